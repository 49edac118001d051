// Launches whose kernel comes as an address and whose arguments come as void**: what a kernel's enrolment told
// says how to call it.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <unordered_map>

#include "launch.hpp"
#include "report.hpp"

namespace cge {

namespace {

using Caller = void (*)(void const* kernel, void** arguments);

// NOTE: enrolments are initialised when the kernels' library is loaded, so this must exist by then.
std::unordered_map<void const*, Caller>& enrolments() {
  static std::unordered_map<void const*, Caller> map;
  return map;
}

struct Erased {
  void const* kernel;
  Caller call;
  void** arguments;
};

cudaError_t refuse(std::string message) {
  Finding f{"bad-launch"};
  f.message = std::move(message);
  report(std::move(f));
  control->failed = 1;
  return cudaErrorInvalidDeviceFunction;
}

cudaError_t launch_erased(Launch l, void const* kernel, void** arguments) {
  auto const it = enrolments().find(kernel);
  if (it == enrolments().end()) {
    Dl_info info{};
    dladdr(const_cast<void*>(kernel), &info);
    return refuse(std::string("the types of a kernel's parameters are not known: ") +
                  (info.dli_sname ? info.dli_sname : "an address that is no kernel") +
                  "; overloaded kernels can be launched by <<<>>> and cudaLaunchKernelEx only");
  }
  Erased erased{kernel, it->second, arguments};
  l.body = [](void* p) {
    auto* e = static_cast<Erased*>(p);
    e->call(e->kernel, e->arguments);
  };
  l.context = &erased;
  return run_host_launch(l) ? cudaSuccess : cudaErrorLaunchFailure;
}

}  // namespace

void enrol(void const* kernel, void (*call)(void const*, void**)) { enrolments()[kernel] = call; }

Launch launch_of(cudaLaunchConfig_t const& config) {
  Launch l;
  l.grid = config.gridDim;
  l.block = config.blockDim;
  l.dynamic_shared = uint32_t(config.dynamicSmemBytes);
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    cudaLaunchAttribute const& a = config.attrs[i];
    if (a.id == cudaLaunchAttributeClusterDimension) {
      l.cluster = dim3(a.val.clusterDim.x, a.val.clusterDim.y, a.val.clusterDim.z);
    } else if (a.id == cudaLaunchAttributeCooperative) {
      l.cooperative = a.val.cooperative != 0;
    }
  }
  return l;
}

cudaError_t launch_configured(cudaLaunchConfig_t const* config, void (*body)(void*), void* context) {
  Launch l = launch_of(*config);
  l.body = body;
  l.context = context;
  return run_host_launch(l) ? cudaSuccess : cudaErrorLaunchFailure;
}

}  // namespace cge

extern "C" {

cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* config, void const* kernel, void** arguments) {
  return cge::launch_erased(cge::launch_of(*config), kernel, arguments);
}
cudaError_t cudaLaunchKernel(void const* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t) {
  cge::Launch l;
  l.grid = grid;
  l.block = block;
  l.dynamic_shared = uint32_t(shared);
  return cge::launch_erased(l, kernel, arguments);
}
cudaError_t cudaLaunchCooperativeKernel(void const* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        cudaStream_t) {
  cge::Launch l;
  l.grid = grid;
  l.block = block;
  l.dynamic_shared = uint32_t(shared);
  l.cooperative = true;
  return cge::launch_erased(l, kernel, arguments);
}

}  // extern "C"
