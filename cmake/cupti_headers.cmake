# Finds the headers of CUPTI: those of the packages nvidia-cuda-cupti, -runtime and -crt, else the CUDA toolkit's.
# Nothing of CUDA is linked: libcupti is loaded at run time, where there is one.
execute_process(
  COMMAND ${Python_EXECUTABLE} -c
          "import sys, pathlib; print(';'.join(str(d) for p in sys.path for d in pathlib.Path(p).glob('nvidia/*/include')))"
  OUTPUT_VARIABLE package_includes OUTPUT_STRIP_TRAILING_WHITESPACE)
foreach(header RLSCOPE_CUPTI_H RLSCOPE_CUDA_H RLSCOPE_CUDA_CRT_H)
  if(${header} AND NOT EXISTS ${${header}})  # it was of an environment that is gone, as pip makes them for one build
    unset(${header} CACHE)
  endif()
endforeach()
set(toolkits /usr/local/cuda $ENV{CUDA_HOME} $ENV{CUDA_PATH})
find_path(RLSCOPE_CUPTI_H cupti.h HINTS ${package_includes} PATHS ${toolkits} PATH_SUFFIXES include extras/CUPTI/include)
find_path(RLSCOPE_CUDA_H cuda.h HINTS ${package_includes} PATHS ${toolkits} PATH_SUFFIXES include)
find_path(RLSCOPE_CUDA_CRT_H crt/host_defines.h HINTS ${package_includes} PATHS ${toolkits} PATH_SUFFIXES include)
if(NOT RLSCOPE_CUPTI_H OR NOT RLSCOPE_CUDA_H OR NOT RLSCOPE_CUDA_CRT_H)
  message(FATAL_ERROR
    "the headers cupti.h, cuda.h and crt/host_defines.h were expected in this Python's packages or under /usr/local/cuda, "
    "found: ${RLSCOPE_CUPTI_H} ${RLSCOPE_CUDA_H} ${RLSCOPE_CUDA_CRT_H}. Install them: "
    "pip install nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88")
endif()
file(STRINGS ${RLSCOPE_CUDA_H}/cuda.h cuda_version REGEX "^#define CUDA_VERSION ")
string(REGEX MATCH "[0-9]+" cuda_version "${cuda_version}")
if(cuda_version LESS 13000)
  message(FATAL_ERROR "CUDA headers of version 13 were expected, ${RLSCOPE_CUDA_H}/cuda.h is of ${cuda_version}")
endif()
set(RLSCOPE_CUPTI_INCLUDE ${RLSCOPE_CUPTI_H} ${RLSCOPE_CUDA_H} ${RLSCOPE_CUDA_CRT_H})
list(REMOVE_DUPLICATES RLSCOPE_CUPTI_INCLUDE)
