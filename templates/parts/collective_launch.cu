
// What host code must know of the GPU, and what it says of a launch; the launcher has the same structs.
struct CutegenMachine {
  int32_t multiprocessors;
  int32_t clusters;  // of this kernel that the GPU holds at once; 0: unknown
};
struct CutegenPrepared {
  alignas(128) unsigned char parameters[4096];  // of the kernel
  uint64_t workspace_bytes;                     // of global memory, for this launch alone
  uint32_t grid[3];
};
