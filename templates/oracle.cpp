// Evaluates the partitions of idiomatic kernels on the host, thread by thread, and writes them to stdout:
// for each array its name, a newline, its number of integers as text, a newline, and 32-bit integers.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <cute/tensor.hpp>

namespace oracle {

std::string prefix;

inline void write(char const* name, std::vector<int32_t> const& values) {
  std::printf("%s%s\n%zu\n", prefix.c_str(), name, values.size());
  std::fwrite(values.data(), sizeof(int32_t), values.size(), stdout);
}

// The modes of a tensor or layout.
template <class T>
void sizes(char const* name, T const& x) {
  std::vector<int32_t> out;
  cute::for_each(cute::make_seq<cute::rank_v<T>>{}, [&](auto i) { out.push_back(int(cute::size<i>(x))); });
  write(name, out);
}

// Coordinates, two integers each.
template <class Tensor>
void append_coords(std::vector<int32_t>& out, Tensor const& tensor) {
  for (int i = 0; i < size(tensor); ++i) {
    auto c = tensor(i);
    out.push_back(int(cute::get<0>(c)));
    out.push_back(int(cute::get<1>(c)));
  }
}

// Distances from base, in elements.
template <class Tensor, class T>
void append_offsets(std::vector<int32_t>& out, Tensor const& tensor, T const* base) {
  for (int i = 0; i < size(tensor); ++i) {
    out.push_back(int(&tensor(i) - base));
  }
}

template <class Layout>
void table(char const* name, Layout const& layout) {
  std::vector<int32_t> out;
  for (int i = 0; i < size(layout); ++i) {
    out.push_back(int(layout(i)));
  }
  write(name, out);
}

// A copy that may or may not be there, and what it needs.
template <char NAME, class Operand>
void operand(Operand const&);

}  // namespace oracle

//{% for kernel in kernels %}
{{ kernel }}
//{% endfor %}
int main() {
//{% for name in names %}
  {{ name }}::evaluate();
//{% endfor %}
}
