// Makes elements of the page. Whatever a program named becomes text and never markup.

/**
 * @param {string} tag
 * @param {Object<string, string>} [attributes] with names that stand in this code
 * @param {...(Node | string)} children
 * @returns {any}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/**
 * @param {string} label
 * @param {() => void} onClick
 * @param {Object<string, string>} [attributes]
 */
export function button(label, onClick, attributes = {}) {
  const element = make("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", onClick);
  return element;
}

/**
 * A field to search in, which Escape clears.
 * @param {string} label what is searched, for those who hear it
 * @param {() => void} onInput
 * @returns {HTMLInputElement}
 */
export function searchField(label, onInput) {
  const field = make("input", { type: "search", placeholder: "Search (/)", "aria-label": label });
  field.addEventListener("input", onInput);
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    field.value = "";
    onInput();
  });
  return field;
}

/**
 * A share as a bar; colours are names of classes in page.css.
 * @param {{share: number, colour: string, label: string}[]} parts
 * @param {number} width of the whole bar, from 0 to 1
 */
export function bar(parts, width = 1) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "bar");
  svg.setAttribute("viewBox", "0 0 1000 20");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", parts.map((part) => part.label).join(", "));
  let at = 0;
  for (const part of parts) {
    const piece = document.createElementNS(svg.namespaceURI, "rect");
    const length = part.share * width * 1000;
    piece.setAttribute("class", `fill-${part.colour}`);
    piece.setAttribute("x", String(at));
    piece.setAttribute("width", String(Math.max(length, 0)));
    piece.setAttribute("height", "20");
    const title = document.createElementNS(svg.namespaceURI, "title");
    title.textContent = part.label;
    piece.append(title);
    svg.append(piece);
    at += length;
  }
  return svg;
}

/**
 * Puts other children into an element. Where one of its controls had the focus, the new one of the same name has it: of several, the one
 * with as many of them before it.
 * @param {Element} element @param {...(Node | string)} children
 */
export function replace(element, ...children) {
  const before = document.activeElement;
  if (!before || !element.contains(before)) {
    element.replaceChildren(...children);
    return;
  }
  const name = nameOf(before);
  const alike = () => /** @type {HTMLElement[]} */ ([...element.querySelectorAll("button, select")]).filter((control) => nameOf(control) === name);
  const place = alike().indexOf(/** @type {HTMLElement} */ (before));
  element.replaceChildren(...children);
  alike()[place]?.focus();
}

/** @param {Element} control */
function nameOf(control) {
  return control.getAttribute("aria-label") ?? control.textContent;
}
