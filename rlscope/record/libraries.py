"""The recorder follows libraries: their boundaries, their operations, and what the user names in them."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rlscope.model import Category
from rlscope.record.config import RecordConfig
from rlscope.record.declared.apply import Declarations
from rlscope.record.declared.kinds import Boundary, ProfilerHook, WrapperHook
from rlscope.record.import_hooks import ImportHooks
from rlscope.record.undeclared.named_operations import NamedOperations
from rlscope.record.undeclared.native_modules import NativeModules

if TYPE_CHECKING:
    from rlscope.record.undeclared.counted_iterations import CountedIterations
    from rlscope.record.undeclared.single_file import SingleFileScripts


class Libraries:
    """Reads the files of libraries whose packages are imported, and records what happens in them.

    Args:
        config: What is recorded.
        imports: Tells of imports.
        files: The modules that declare something, each with the packages for which it is read.
        report: Told of the timesteps where an iteration of a loop ends that does not report any.
    """

    def __init__(
        self,
        config: RecordConfig,
        imports: ImportHooks,
        files: Mapping[str, tuple[str, ...]],
        report: Callable[[int], None],
    ) -> None:
        self._config = config
        self._imports = imports
        self._unread = dict(files)
        self._boundaries: list[Boundary] = []
        self._packages = {package for packages in files.values() for package in packages}
        self._declarations = Declarations(imports, self._packages)
        self._native_modules = NativeModules(self._packages, self._declarations.hooks)
        self._is_intercepting = False
        self._single_file_scripts: SingleFileScripts | None = None
        self._counted: CountedIterations | None = None
        self._report = report
        self.named_operations = NamedOperations(config.operations, self._declarations.hooks, imports)

    def install(self) -> None:
        """Wait for what the user has named; what the libraries' own files name in the same place comes before."""
        for package in self.named_operations.packages:
            self.read(package)
        self.named_operations.install()

    def read(self, package: str) -> None:
        """Put in place what is declared for a package, which has been imported or is about to be."""
        added: list[Boundary] = []
        for file in [file for file, packages in self._unread.items() if package in packages]:
            del self._unread[file]
            added += self._put_in_place(vars(import_module(file)))
        if package == "torch" and self._config.auto and self._single_file_scripts is None:
            from rlscope.record.undeclared.counted_iterations import CountedIterations
            from rlscope.record.undeclared.single_file import SingleFileScripts  # for programs that use PyTorch

            self._counted = CountedIterations(self._report)
            self._single_file_scripts = SingleFileScripts(self._counted)
            self._imports.after_import("torch", self._single_file_scripts.install)
        self._boundaries += added
        if self._is_intercepting:
            for boundary in added:
                self._declarations.intercept(boundary)

    def intercept(self) -> None:
        """Record crossings into what has been imported, and what will be."""
        self._is_intercepting = True
        for boundary in self._boundaries:
            self._declarations.intercept(boundary)
        if Category.NATIVE.label in self._config.layers:
            self._native_modules.follow()

    def guess_nothing(self) -> None:
        """Guesses no stages any more: a library has said that its operations are known."""
        if self._single_file_scripts is not None:
            self._single_file_scripts.remove()

    def count_nothing(self) -> None:
        """Count no iterations any more: somebody reports them."""
        if self._counted is not None:
            self._counted.end()

    def remove(self) -> None:
        """Put everything back."""
        self.count_nothing()
        self.named_operations.remove()
        self._declarations.hooks.restore()
        self.guess_nothing()

    def _put_in_place(self, declared: Mapping[str, Any]) -> list[Boundary]:
        """Execute what one file declares, and return its boundaries, whose crossings are still to be intercepted."""
        layers = self._config.layers
        boundaries = [each for each in declared.get("BOUNDARIES", ()) if each.layer in layers]
        for boundary in boundaries:
            self._declarations.prepare(boundary)
        for hook in declared.get("HOOKS", ()):
            if isinstance(hook, ProfilerHook):
                self._declarations.make_way(hook, has_cupti="cuda" in layers)
            elif self._config.auto or (isinstance(hook, WrapperHook) and hook.is_always):
                self._declarations.hook(hook)
        return boundaries
