// Texts and tables of lines of code objects that other threads may free meanwhile.
#include "python_code.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace rlscope {
namespace {

constexpr size_t kMostKnown = 1 << 16;
constexpr size_t kMostKnownLines = 1 << 22;
constexpr size_t kMostIds = 1 << 16;
constexpr size_t kMostCharactersOfIds = 1 << 23;
constexpr size_t kMostCharacters = 1 << 12;
constexpr size_t kMostTableBytes = 1 << 22;
constexpr size_t kCodeUnitBytes = 2;

// Copied as bytes: it is more than a code object of which only the start was read.
struct CodeHead {
  alignas(PyCodeObject) uint8_t bytes[sizeof(PyCodeObject)] = {};
  const PyCodeObject* operator->() const { return reinterpret_cast<const PyCodeObject*>(bytes); }
  const void* type() const { return reinterpret_cast<const PyObject*>(bytes)->ob_type; }
};

PyObject* name_of(const CodeHead& code) {
#if PY_VERSION_HEX < 0x030B0000
  return code->co_name;
#else
  return code->co_qualname;
#endif
}

void append_utf8(std::string& text, uint32_t character) {
  if (character >= 0xD800 && character < 0xE000) character = 0xFFFD;  // half of a pair, which UTF-8 does not have
  if (character < 0x80) {
    text += static_cast<char>(character);
    return;
  }
  unsigned more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xFF00 >> (more + 1) & 0xFF) | character >> 6 * more);
  while (more-- > 0) text += static_cast<char>(0x80 | (character >> 6 * more & 0x3F));
}

// `characters` becomes where they lie, in so many bytes.
bool read_text(const PyObject* object, std::string& text, const uint8_t*& characters, size_t& bytes) {
  PyCompactUnicodeObject head{};
  if (!read_memory(object, &head, sizeof(PyASCIIObject))) return false;
  const PyASCIIObject& ascii = head._base;
  bool is_text = ascii.ob_base.ob_type == &PyUnicode_Type && ascii.state.compact && ascii.length >= 0;
  size_t width = ascii.state.kind;
  if (!is_text || (width != 1 && width != 2 && width != 4)) return false;
  size_t length = std::min(static_cast<size_t>(ascii.length), kMostCharacters);
  std::vector<uint8_t> data(length * width);
  size_t head_bytes = ascii.state.ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
  characters = reinterpret_cast<const uint8_t*>(object) + head_bytes;
  bytes = data.size();
  if (length > 0 && !read_memory(characters, data.data(), data.size())) return false;
  text.clear();
  for (size_t i = 0; i < length; i++) {
    uint32_t character = 0;
    std::memcpy(&character, data.data() + i * width, width);
    append_utf8(text, character);
  }
  return true;
}

bool read_bytes(const PyObject* object, std::vector<uint8_t>& data) {
  PyBytesObject head{};
  constexpr size_t kStart = offsetof(PyBytesObject, ob_sval);
  if (!read_memory(object, &head, kStart) || head.ob_base.ob_base.ob_type != &PyBytes_Type) return false;
  if (head.ob_base.ob_size < 0 || static_cast<size_t>(head.ob_base.ob_size) > kMostTableBytes) return false;
  data.resize(static_cast<size_t>(head.ob_base.ob_size));
  return data.empty() || read_memory(reinterpret_cast<const uint8_t*>(object) + kStart, data.data(), data.size());
}

#if PY_VERSION_HEX < 0x030B0000
// Pairs of a number of bytes and how far the line is from the one before; -128: these bytes have none.
std::vector<uint32_t> decode_lines(const std::vector<uint8_t>& table, uint32_t first_line) {
  std::vector<uint32_t> lines;
  uint32_t line = first_line;
  for (size_t at = 0; at + 1 < table.size(); at += 2) {
    auto delta = static_cast<int8_t>(table[at + 1]);
    if (delta != -128) line += static_cast<uint32_t>(delta);
    lines.insert(lines.end(), table[at] / kCodeUnitBytes, delta == -128 ? first_line : line);
  }
  return lines;
}
#else
// The location table that CPython's Objects/locations.md describes, of which only the lines are used.
class LocationTable {
 public:
  explicit LocationTable(const std::vector<uint8_t>& table) : table_(table) {}

  std::vector<uint32_t> lines(uint32_t first_line) {
    std::vector<uint32_t> lines;
    uint32_t line = first_line;
    while (at_ < table_.size()) {
      uint8_t head = table_[at_++];
      unsigned kind = head >> 3 & 15;
      line += line_delta(kind);
      lines.insert(lines.end(), (head & 7) + 1, kind == kNoLocation ? first_line : line);
      while (at_ < table_.size() && !(table_[at_] & 0x80)) at_++;  // columns
    }
    return lines;
  }

 private:
  static constexpr unsigned kOneLine = 10, kNoColumns = 13, kLong = 14, kNoLocation = 15;

  uint32_t line_delta(unsigned kind) {
    if (kind >= kOneLine && kind < kNoColumns) return kind - kOneLine;
    if (kind != kNoColumns && kind != kLong) return 0;
    uint32_t value = 0;
    for (unsigned shift = 0; at_ < table_.size() && shift < 32; shift += 6) {
      uint8_t part = table_[at_++];
      value |= uint32_t{part & 63u} << shift;
      if (!(part & 64)) break;
    }
    return value & 1 ? 0 - (value >> 1) : value >> 1;
  }

  const std::vector<uint8_t>& table_;
  size_t at_ = 0;
};

std::vector<uint32_t> decode_lines(const std::vector<uint8_t>& table, uint32_t first_line) {
  return LocationTable(table).lines(first_line);
}
#endif

bool is_same(const KnownCode& known, const CodeHead& code) {
  return known.type == code.type() && known.name == name_of(code) && known.file == code->co_filename &&
         known.line_table == code->co_linetable && known.first_line == static_cast<uint32_t>(code->co_firstlineno);
}

std::atomic<uint64_t> codes_freed{1};  // and one, so that 0 is before all
destructor free_code = nullptr;

void count_and_free(PyObject* code) {
  codes_freed.fetch_add(1);
  free_code(code);
}

}  // namespace

void CodeTable::count_freed() {
  if (!free_code) free_code = std::exchange(PyCode_Type.tp_dealloc, count_and_free);
}

uint64_t CodeTable::freed() { return codes_freed; }

void CodeTable::clear() {
  known_.clear();
  ids_.clear();
  known_lines_ = characters_ = 0;
}

// The object is read again at the end: it may have been freed, and another one made in its place.
KnownCode* CodeTable::learn(const void* address) {
  known_.erase(address);
  CodeHead code, again;
  if (!read_memory(address, code.bytes, kCodeHead) || code.type() != &PyCode_Type) return nullptr;
  KnownCode known{};
  std::string name, file;
  std::vector<uint8_t> table;
  const uint8_t *characters, *of_file;
  size_t bytes, bytes_of_file;
  if (!read_text(name_of(code), name, characters, bytes) ||
      !read_text(code->co_filename, file, of_file, bytes_of_file) ||
      !read_bytes(code->co_linetable, table)) {
    return nullptr;
  }
  known.first_line = static_cast<uint32_t>(code->co_firstlineno);
  known.lines = decode_lines(table, known.first_line);
  known.type = code.type();
  known.name = name_of(code);
  known.file = code->co_filename;
  known.line_table = code->co_linetable;
  known.characters = characters;
  known.checked_bytes.resize(std::min(bytes, kNameChecked));
  bool is_there = read_memory(known.characters, known.checked_bytes.data(), known.checked_bytes.size()) &&
                  read_memory(address, again.bytes, kCodeHead) && is_same(known, again);
  if (!is_there || (known.id = id_of(known.first_line, name, file)) == 0) return nullptr;
  known_lines_ += known.lines.size();
  return &known_.insert_or_assign(address, std::move(known)).first->second;
}

uint32_t CodeTable::id_of(uint32_t first_line, const std::string& name, const std::string& file) {
  bool is_full = ids_.size() >= kMostIds || characters_ >= kMostCharactersOfIds;
  std::tuple<std::string, std::string, uint32_t> function{file, name, first_line};
  if (is_full && ids_.find(function) == ids_.end()) function = {"", "(more functions)", 0};
  auto [place, is_new] = ids_.try_emplace(function, static_cast<uint32_t>(ids_.size() + 1));
  if (!is_new) return place->second;
  if (!on_new_(place->second, std::get<2>(function), std::get<1>(function), std::get<0>(function))) {
    ids_.erase(place);
    return 0;
  }
  characters_ += name.size() + file.size();
  return place->second;
}

bool CodeTable::find(const std::vector<const void*>& addresses, std::vector<const KnownCode*>& found) {
  uint64_t freed = codes_freed;  // before anything is read
  if (known_.size() > kMostKnown || known_lines_ > kMostKnownLines) {
    known_.clear();
    known_lines_ = 0;
  }
  found.clear();
  to_check_.clear();
  for (const void* address : addresses) {
    auto place = known_.find(address);
    KnownCode* known = place == known_.end() ? learn(address) : &place->second;
    if (!known) return false;
    if (known->checked_at != freed) to_check_[address] = known;
    found.push_back(known);
  }
  return to_check_.empty() || check(freed);
}

bool CodeTable::check(uint64_t freed) {
  std::vector<CodeHead> heads(to_check_.size());
  buffer_.resize(to_check_.size() * kNameChecked);
  reads_.clear();
  size_t count = 0;
  for (const auto& [address, known] : to_check_) {
    reads_.add(address, heads[count].bytes, kCodeHead);
    reads_.add(known->characters, &buffer_[count++ * kNameChecked], known->checked_bytes.size());
  }
  bool is_read = reads_.read();
  bool are_same = is_read;
  count = 0;
  for (const auto& [address, known] : to_check_) {
    const std::string& bytes = known->checked_bytes;
    bool is_named = std::memcmp(&buffer_[count * kNameChecked], bytes.data(), bytes.size()) == 0;
    bool is_it = is_read && is_named && is_same(*known, heads[count]);
    count++;
    if (is_it) {
      known->checked_at = freed;
      continue;
    }
    known_.erase(address);  // to be learnt anew when it is seen again
    are_same = false;
  }
  return are_same;
}

}  // namespace rlscope
