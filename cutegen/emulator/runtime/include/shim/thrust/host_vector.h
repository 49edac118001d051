// Stands in for Thrust's vector on the host.
#pragma once

#include <vector>

namespace thrust {

template <class T>
class host_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  host_vector() = default;
  template <class Vector, class = decltype(Vector::on_device)>
  host_vector(Vector const& other) : std::vector<T>(other.size()) {  // NOLINT: implicit, as Thrust's
    other.copy_to(this->data());
  }
  template <class Vector, class = decltype(Vector::on_device)>
  host_vector& operator=(Vector const& other) {
    this->resize(other.size());
    other.copy_to(this->data());
    return *this;
  }
};

}  // namespace thrust
