#include <cstdint>

#include <cute/swizzle.hpp>
#include <cute/tensor_impl.hpp>
//{% for header in headers %}
#include <{{ header }}>
//{% endfor %}

