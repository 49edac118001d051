"""A ``main`` for CUTLASS's tutorials that checks their numbers exactly."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["checking_main"]

_MAIN = """
int main() {
  using T = ELEMENT;
  int m = 256, n = 128, k = EXTENT, bad = 0;
  for (int t : {TRANSPOSED}) {
    thrust::host_vector<T> a(m * k), b(n * k), c(m * n);
    unsigned s = 1;
    auto next = [&] { s = s * 1664525u + 1013904223u; return T(float(int(s >> 24) % 3 - 1)); };
    for (auto& x : a) x = next();
    for (auto& x : b) x = next();
    for (auto& x : c) x = T(-7.f);
    thrust::device_vector<T> da = a, db = b, dc = c;
    gemm(t ? 'T' : 'N', t ? 'N' : 'T', m, n, k, T(1.f), da.data().get(), t ? k : m, db.data().get(),
         t ? k : n, T(0.f), dc.data().get(), m);
    thrust::host_vector<T> r = dc;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float want = 0;
        for (int x = 0; x < k; ++x) want += float(t ? a[i*k+x] : a[i+x*m]) * float(t ? b[j*k+x] : b[j+x*n]);
        bad += float(r[i + j * m]) != want;
      }
  }
  return bad != 0;
}
"""


def checking_main(element: str = "cute::half_t", transposed: Sequence[int] = (0, 1), k: int = 192) -> str:
    """C++ text whose ``main`` returns 0 when all numbers of the tutorial's ``gemm`` are right.

    Args:
        element: Element type.
        transposed: Which of (NT, TN) it calls.
        k: Extent of K; M is 256 and N is 128.
    """
    text = _MAIN.replace("ELEMENT", element).replace("TRANSPOSED", ", ".join(map(str, transposed)))
    return text.replace("EXTENT", str(k))
