// The names of the file's catalog as the tables have them; a process that still records adds some.
#pragma once
#include <cstdint>

#include "correction.h"
#include "sweep_tables.h"
#include "trace_file.h"

namespace rlscope {

class NameCatalog {
 public:
  // Without correction it is null.
  NameCatalog(TraceFile& file, SweepTables& tables, Correction* correction)
      : file_(file), tables_(tables), correction_(correction) {
    learn();
  }

  // Those that the file has been found to have.
  void learn() {
    tables_.learn_names(file_.names());
    if (correction_) correction_->learn_names(file_.names());
  }
  // An unknown name may be one that was added since the catalog was read.
  bool knows(uint64_t id) {
    if (tables_.knows_name(id) || is_final_) return tables_.knows_name(id);
    file_.reload_catalog();
    learn();
    is_final_ = !tables_.knows_name(id);
    return !is_final_;
  }
  Scope scope_of(const LaunchSite& launch_site) {
    if (launch_site.operation && !tables_.knows_name(launch_site.operation)) learn();
    return tables_.scope_of(launch_site);
  }

 private:
  TraceFile& file_;
  SweepTables& tables_;
  Correction* correction_;
  bool is_final_ = false;
};

}  // namespace rlscope
