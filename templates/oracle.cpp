// Evaluates the partitions of idiomatic kernels on the host, thread by thread.
//{% include "parts/oracle_write.cpp" %}

//{% for kernel in kernels %}
{{ kernel }}
//{% endfor %}
int main() {
//{% for name in names %}
  {{ name }}::evaluate();
//{% endfor %}
}
