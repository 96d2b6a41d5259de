// The search for libcupti and the table of its functions.
#include "cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

namespace rlscope::cuda {
namespace {

constexpr const char* kName = "libcupti.so.";
constexpr int kMajors[] = {13, 12};
constexpr const char* kToolkitDirectories[] = {
    "/usr/local/cuda/extras/CUPTI/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
};
// Where pip puts it, seen from the directory that librlscope.so is in: for programs that are not Python.
constexpr const char* kPackageDirectories[] = {"/../nvidia/cu13/lib", "/../nvidia/cuda_cupti/lib"};

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  auto note = [](dl_phdr_info* library, size_t, void* found) {
    const char* slash = std::strrchr(library->dlpi_name, '/');
    const char* name = slash ? slash + 1 : library->dlpi_name;
    if (std::strncmp(name, "libcupti.so", 11) == 0) {
      static_cast<std::vector<std::string>*>(found)->push_back(library->dlpi_name);
    }
    return 0;
  };
  dl_iterate_phdr(note, &paths);
  return paths;
}

std::vector<std::string> split(const std::string& directories) {
  std::vector<std::string> parts;
  for (size_t start = 0; start < directories.size();) {
    size_t end = directories.find(':', start);
    if (end == std::string::npos) end = directories.size();
    if (end > start) parts.push_back(directories.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::string own_directory() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&load_cupti), &info) || !info.dli_fname) return {};
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

class Search {
 public:
  explicit Search(int driver_version) : driver_major_(driver_version / 1000), driver_version_(driver_version) {}

  // The newest of the libraries that the driver can serve, if there is one. They are in the process already.
  bool try_loaded(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) consider(dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD));
    return found_ != nullptr;
  }
  // The newest that the driver can serve, from a directory. One that is too new is not even loaded.
  bool try_directory(const std::string& directory) {
    for (int major : kMajors) {
      std::string path = directory + "/" + kName + std::to_string(major);
      if (found_ || access(path.c_str(), R_OK) != 0 || !serves(major, path)) continue;
      consider(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    }
    return found_ != nullptr;
  }
  // The same, from where the loader looks.
  bool try_loader() {
    for (int major : kMajors) {
      if (found_ || (driver_major_ != 0 && major > driver_major_)) continue;
      consider(dlopen((kName + std::to_string(major)).c_str(), RTLD_NOW | RTLD_LOCAL));
    }
    return found_ != nullptr;
  }

  std::unique_ptr<CuptiLibrary> take() { return std::move(found_); }

  std::string explain(const std::string& directories) const {
    if (!misfit_.empty()) return misfit_;
    std::string places = directories.empty() ? "" : ", in " + directories;
    return "no libcupti was found in the process" + places +
           ", on the loader's path or under /usr/local/cuda; install that of the driver's CUDA: "
           "pip install nvidia-cuda-cupti (CUDA 13) or nvidia-cuda-cupti-cu12";
  }

 private:
  void consider(void* handle) {
    if (!handle) return;
    auto library = std::make_unique<CuptiLibrary>();
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) library->path = map->l_name;
    if (find_functions(handle, *library) && serves(cuda_major_of_cupti(library->version), library->path) &&
        (!found_ || found_->version < library->version)) {
      found_ = std::move(library);
    } else {
      dlclose(handle);
    }
  }

  bool find_functions(void* handle, CuptiLibrary& library) {
    const char* missing = nullptr;
#define RLSCOPE_FIND(function)                                                                       \
  library.function = reinterpret_cast<decltype(library.function)>(dlsym(handle, #function)); \
  if (!library.function) missing = #function;
    RLSCOPE_CUPTI_FUNCTIONS(RLSCOPE_FIND)
#undef RLSCOPE_FIND
    if (missing) return reject(library.path + " has no " + missing + "; the libcupti of CUDA 12 or 13 is needed");
    CUptiResult result = library.cuptiGetVersion(&library.version);
    if (result == CUPTI_SUCCESS) return true;
    return reject(library.path + " does not work: cuptiGetVersion gave " + std::to_string(result));
  }

  // A driver serves the CUDA versions up to its own.
  bool serves(int major, const std::string& path) {
    if (driver_major_ == 0 || major <= driver_major_) return true;
    return reject(path + " is of CUDA " + std::to_string(major) + ", but the driver serves CUDA " +
                  std::to_string(driver_major_) + "." + std::to_string(driver_version_ % 1000 / 10) +
                  " at most; update the driver, or install the libcupti of its CUDA: pip install nvidia-cuda-cupti-cu" +
                  std::to_string(driver_major_));
  }

  // The first reason is the one to tell: what is looked at first should have fitted.
  bool reject(const std::string& why) {
    if (misfit_.empty()) misfit_ = why;
    return false;
  }

  int driver_major_;
  int driver_version_;
  std::unique_ptr<CuptiLibrary> found_;
  std::string misfit_;
};

bool search_everywhere(Search& search, const std::string& directories) {
  // Its own first: what a framework uses works here, and a second one would fight with it over the driver.
  if (search.try_loaded(loaded_libraries())) return true;
  for (const std::string& directory : split(directories)) {
    if (search.try_directory(directory)) return true;
  }
  for (const char* directory : kPackageDirectories) {
    if (search.try_directory(own_directory() + directory)) return true;
  }
  if (search.try_loader()) return true;
  for (const char* directory : kToolkitDirectories) {
    if (search.try_directory(directory)) return true;
  }
  return false;
}

}  // namespace

int cuda_major_of_cupti(uint32_t version) {
  if (version >= 10000) return static_cast<int>(version / 10000);
  return version >= 18 ? 12 : 11;
}

const CuptiLibrary* load_cupti(const std::string& directories, int driver_version, std::string& error) {
  Search search(driver_version);
  if (!search_everywhere(search, directories)) {
    error = search.explain(directories);
    return nullptr;
  }
  return search.take().release();
}

}  // namespace rlscope::cuda
