"""Two threads import two modules that import each other's user under a lock of the program."""

import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
import time

lock = threading.Lock()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "slow_module" else None

    def exec_module(self, module):
        time.sleep(0.3)
        with lock:
            pass


sys.meta_path.insert(0, Finder())


def importer():
    importlib.import_module("slow_module")


def user():
    with lock:
        time.sleep(0.5)
        importlib.import_module("slow_module")


ts = [threading.Thread(target=importer, name="importer"), threading.Thread(target=user, name="user")]
for t in ts:
    t.start()
for t in ts:
    t.join()
