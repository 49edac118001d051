#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cute/tensor.hpp>

// Arrays go to stdout: a line with the name, a line with the number of integers, then these, 32 bits each.
namespace oracle {

inline std::string prefix;

// Puts a name and a dot before the names of all arrays that are written while it lives.
struct Scope {
  std::string outer = prefix;
  explicit Scope(char const* name) { prefix += std::string(name) + "."; }
  ~Scope() { prefix = outer; }
};

inline void write(char const* name, std::vector<int32_t> const& values) {
  std::printf("%s%s\n%zu\n", prefix.c_str(), name, values.size());
  std::fwrite(values.data(), sizeof(int32_t), values.size(), stdout);
}

// Coordinates, two integers each.
template <class Tensor>
void append_coords(std::vector<int32_t>& values, Tensor const& tensor) {
  for (int i = 0; i < size(tensor); ++i) {
    auto coord = tensor(i);
    values.push_back(cute::get<0>(coord));
    values.push_back(cute::get<1>(coord));
  }
}

template <class Tensor>
void write_coords(char const* name, Tensor const& tensor) {
  std::vector<int32_t> values;
  append_coords(values, tensor);
  write(name, values);
}

template <class Tensor, class T>
void write_offsets(char const* name, Tensor const& tensor, T const* base) {
  std::vector<int32_t> values;
  for (int i = 0; i < size(tensor); ++i) {
    values.push_back(int32_t(&tensor(i) - base));
  }
  write(name, values);
}

// Whether the slice of each thread, which a kernel takes of a swizzled tensor at run time, is its part.
template <class Tensor, class Slice>
void require_slices(Tensor const& whole, Slice const& slice) {
  int threads = cute::size<0>(whole);
  for (int thread = 0; thread < threads; ++thread) {
    auto part = slice(thread);
    for (int i = 0; i < size(part); ++i) {
      if (&part(i) != &whole(thread + threads * i)) {
        std::fprintf(stderr, "%s: the slice of thread %d differs at %d\n", prefix.c_str(), thread, i);
        std::exit(1);
      }
    }
  }
}

template <class Layout>
void write_layout(char const* name, Layout const& layout) {
  std::vector<int32_t> values;
  for (int i = 0; i < size(layout); ++i) {
    values.push_back(layout(i));
  }
  write(name, values);
}

}  // namespace oracle
