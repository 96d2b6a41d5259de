// Built-in functions stay what they were, although their function pointers are exchanged.
#pragma once

namespace rlscope {

// To be called before the first pointer of a built-in function is exchanged, and after the last one is back.
void keep_identity_of_builtins();
void restore_identity_of_builtins();

}  // namespace rlscope
