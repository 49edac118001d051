// Stands in for Thrust's vector on the device: memory that the emulator knows by bounds.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <cuda_runtime.h>
#include <thrust/host_vector.h>

namespace thrust {

template <class T>
class device_ptr {
 public:
  explicit device_ptr(T* p = nullptr) : p_(p) {}
  T* get() const { return p_; }
  operator T*() const { return p_; }  // NOLINT: implicit, as Thrust's conversions of raw pointers

 private:
  T* p_;
};

template <class T>
T* raw_pointer_cast(device_ptr<T> p) { return p.get(); }
template <class T>
T* raw_pointer_cast(T* p) { return p; }

template <class T>
class device_vector {
 public:
  static constexpr bool on_device = true;
  using value_type = T;

  device_vector() = default;
  explicit device_vector(size_t n, T value = T()) {
    allocate(n);
    std::vector<T> filled(n, value);
    copy_from(filled.data());
  }
  device_vector(std::vector<T> const& v) {  // NOLINT: implicit, as Thrust's
    allocate(v.size());
    copy_from(v.data());
  }
  device_vector(device_vector const& o) {
    allocate(o.n_);
    cudaMemcpy(p_, o.p_, n_ * sizeof(T), cudaMemcpyDeviceToDevice);
  }
  device_vector(device_vector&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(std::exchange(o.n_, 0)) {}
  device_vector& operator=(device_vector o) noexcept {
    std::swap(p_, o.p_);
    std::swap(n_, o.n_);
    return *this;
  }
  device_vector& operator=(std::vector<T> const& v) { return *this = device_vector(v); }
  ~device_vector() { cudaFree(p_); }

  size_t size() const { return n_; }
  device_ptr<T> data() { return device_ptr<T>(p_); }
  device_ptr<T const> data() const { return device_ptr<T const>(p_); }
  T* begin() { return p_; }
  T* end() { return p_ + n_; }
  void resize(size_t n) { *this = device_vector(n); }
  void copy_to(T* to) const { cudaMemcpy(to, p_, n_ * sizeof(T), cudaMemcpyDeviceToHost); }

 private:
  void allocate(size_t n) {
    n_ = n;
    cudaMalloc(reinterpret_cast<void**>(&p_), n * sizeof(T));
  }
  void copy_from(T const* from) { cudaMemcpy(p_, from, n_ * sizeof(T), cudaMemcpyHostToDevice); }

  T* p_ = nullptr;
  size_t n_ = 0;
};

}  // namespace thrust
