# The toolchain of `make wheels`: clang and libc++ of the package ziglang, whose program RLSCOPE_ZIG names, for glibc 2.28 and
# newer. What Debian 12's g++ links needs glibc 2.36.
set(CMAKE_CXX_COMPILER $ENV{RLSCOPE_ZIG} c++ -target x86_64-linux-gnu.2.28)
set(CMAKE_CXX_FLAGS_INIT -fomit-frame-pointer)  # zig keeps it unless asked

# libc++ has no demangler that can be stopped (src/analysis/demangle.cpp): this one object of g++'s library is linked too.
execute_process(COMMAND g++ -print-file-name=libsupc++.a
                OUTPUT_VARIABLE libsupcxx OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ar x ${libsupcxx} cp-demangle.o
                COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
execute_process(COMMAND ar rcs libdemangle.a cp-demangle.o
                COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_CXX_STANDARD_LIBRARIES ${CMAKE_BINARY_DIR}/libdemangle.a)
