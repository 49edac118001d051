CUTE_DEVICE int tiles(int extent, int block) { return int((uint32_t(extent) + block - 1) / block); }

// A 32-bit shared address as the pointer that CuTe's operations take; it folds away.
template <class T>
CUTE_DEVICE T* shared_ptr_at(uint32_t address) {
  return reinterpret_cast<T*>(__cvta_shared_to_generic(address));
}
