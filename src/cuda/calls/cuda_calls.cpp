// The table of recorded CUDA calls: those that do work or wait. On an H200 a TD3-like PyTorch loop makes 1996 runtime
// calls an iteration, of which 212 are of this kind; following all of them costs 2-3 % more and tells nothing.
//
// Left out, with reasons:
// - getters, setters and queries (cudaGetDevice, cudaGetLastError, cudaStreamQuery, cudaEventQuery, attributes,
//   occupancy): 87 % of all calls, each well under a microsecond, none does work or waits
// - cudaEventRecord, cudaStreamWaitEvent, external semaphores, cuStreamWriteValue and the like: they put a mark into a
//   stream, which costs less than recording it
// - making and destroying streams, events, graphs and their nodes; capturing: rare, and the graph works at its launch
// - the runtime's launches of kernels: the driver's, which each of them makes, is where the time goes and what Triton and
//   XLA call themselves. Calls so frequent are followed once, not twice
// - textures, surfaces, graphics and EGL interoperation: not used for learning
// - the driver's calls without _v2 where there is one: for programs built before CUDA 4
#include "cuda_calls.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include <array>

namespace rlscope::cuda {
namespace {

constexpr Category kWork = Category::kCuda;
constexpr Category kWait = Category::kCudaWait;

}  // namespace

// The enumerators make the compiler check each name. A libcupti that does not know a call says so, and it is skipped.
#define RUNTIME(name, version, category) \
  {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##name##version, #name, category, false}
#define DRIVER(name, version, category) \
  {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name##version, #name, category, false}
#define RESET(DOMAIN, name, version) \
  {CUPTI_CB_DOMAIN_##DOMAIN##_API, CUPTI_##DOMAIN##_TRACE_CBID_##name##version, #name, kWait, true}
constexpr CudaCall kCudaCalls[] = {
    // Launches: a kernel, a graph, a function on the host that takes its turn in a stream.
    RUNTIME(cudaLaunchHostFunc, _v10000, kWork),
    RUNTIME(cudaLaunchHostFunc, _ptsz_v10000, kWork),
    RUNTIME(cudaStreamAddCallback, _v5000, kWork),
    RUNTIME(cudaStreamAddCallback, _ptsz_v7000, kWork),
    RUNTIME(cudaGraphLaunch, _v10000, kWork),
    RUNTIME(cudaGraphLaunch, _ptsz_v10000, kWork),
    DRIVER(cuLaunchKernel, , kWork),
    DRIVER(cuLaunchKernel, _ptsz, kWork),
    DRIVER(cuLaunchKernelEx, , kWork),
    DRIVER(cuLaunchKernelEx, _ptsz, kWork),
    DRIVER(cuLaunchCooperativeKernel, , kWork),
    DRIVER(cuLaunchCooperativeKernel, _ptsz, kWork),
    DRIVER(cuLaunchCooperativeKernelMultiDevice, , kWork),
    DRIVER(cuLaunchHostFunc, , kWork),
    DRIVER(cuLaunchHostFunc, _ptsz, kWork),
    DRIVER(cuStreamAddCallback, , kWork),
    DRIVER(cuStreamAddCallback, _ptsz, kWork),
    DRIVER(cuGraphLaunch, , kWork),
    DRIVER(cuGraphLaunch, _ptsz, kWork),

    // Graphs are prepared here: compiled, uploaded, exchanged.
    RUNTIME(cudaGraphInstantiate, _v10000, kWork),
    RUNTIME(cudaGraphInstantiate, _v12000, kWork),
    RUNTIME(cudaGraphInstantiateWithFlags, _v11040, kWork),
    RUNTIME(cudaGraphInstantiateWithParams, _v12000, kWork),
    RUNTIME(cudaGraphInstantiateWithParams, _ptsz_v12000, kWork),
    RUNTIME(cudaGraphExecUpdate, _v10020, kWork),
    RUNTIME(cudaGraphUpload, _v10000, kWork),
    RUNTIME(cudaGraphUpload, _ptsz_v10000, kWork),
    DRIVER(cuGraphInstantiate, , kWork),
    DRIVER(cuGraphInstantiate, _v2, kWork),
    DRIVER(cuGraphInstantiateWithFlags, , kWork),
    DRIVER(cuGraphInstantiateWithParams, , kWork),
    DRIVER(cuGraphInstantiateWithParams, _ptsz, kWork),
    DRIVER(cuGraphExecUpdate, , kWork),
    DRIVER(cuGraphExecUpdate, _v2, kWork),
    DRIVER(cuGraphUpload, , kWork),
    DRIVER(cuGraphUpload, _ptsz, kWork),

    // Waiting is their purpose.
    RUNTIME(cudaDeviceSynchronize, _v3020, kWait),
    RUNTIME(cudaThreadSynchronize, _v3020, kWait),
    RUNTIME(cudaStreamSynchronize, _v3020, kWait),
    RUNTIME(cudaStreamSynchronize, _ptsz_v7000, kWait),
    RUNTIME(cudaEventSynchronize, _v3020, kWait),
    DRIVER(cuCtxSynchronize, , kWait),
    DRIVER(cuCtxSynchronize, _v2, kWait),
    DRIVER(cuStreamSynchronize, , kWait),
    DRIVER(cuStreamSynchronize, _ptsz, kWait),
    DRIVER(cuEventSynchronize, , kWait),

    // Copies that return when the data has arrived.
    RUNTIME(cudaMemcpy, _v3020, kWait),
    RUNTIME(cudaMemcpy, _ptds_v7000, kWait),
    RUNTIME(cudaMemcpy2D, _v3020, kWait),
    RUNTIME(cudaMemcpy2D, _ptds_v7000, kWait),
    RUNTIME(cudaMemcpy3D, _v3020, kWait),
    RUNTIME(cudaMemcpy3D, _ptds_v7000, kWait),
    RUNTIME(cudaMemcpyToSymbol, _v3020, kWait),
    RUNTIME(cudaMemcpyToSymbol, _ptds_v7000, kWait),
    RUNTIME(cudaMemcpyFromSymbol, _v3020, kWait),
    RUNTIME(cudaMemcpyFromSymbol, _ptds_v7000, kWait),
    RUNTIME(cudaMemcpyToArray, _v3020, kWait),
    RUNTIME(cudaMemcpyToArray, _ptds_v7000, kWait),
    RUNTIME(cudaMemcpyFromArray, _v3020, kWait),
    RUNTIME(cudaMemcpyFromArray, _ptds_v7000, kWait),
    RUNTIME(cudaMemcpy2DToArray, _v3020, kWait),
    RUNTIME(cudaMemcpy2DToArray, _ptds_v7000, kWait),
    RUNTIME(cudaMemcpy2DFromArray, _v3020, kWait),
    RUNTIME(cudaMemcpy2DFromArray, _ptds_v7000, kWait),
    DRIVER(cuMemcpy, , kWait),
    DRIVER(cuMemcpy, _ptds, kWait),
    DRIVER(cuMemcpyHtoD, _v2, kWait),
    DRIVER(cuMemcpyHtoD, _v2_ptds, kWait),
    DRIVER(cuMemcpyDtoH, _v2, kWait),
    DRIVER(cuMemcpyDtoH, _v2_ptds, kWait),
    DRIVER(cuMemcpyHtoA, _v2, kWait),
    DRIVER(cuMemcpyHtoA, _v2_ptds, kWait),
    DRIVER(cuMemcpyAtoH, _v2, kWait),
    DRIVER(cuMemcpyAtoH, _v2_ptds, kWait),
    DRIVER(cuMemcpy2D, _v2, kWait),
    DRIVER(cuMemcpy2D, _v2_ptds, kWait),
    DRIVER(cuMemcpy2DUnaligned, _v2, kWait),
    DRIVER(cuMemcpy2DUnaligned, _v2_ptds, kWait),
    DRIVER(cuMemcpy3D, _v2, kWait),
    DRIVER(cuMemcpy3D, _v2_ptds, kWait),

    // Copies that are only ordered here. To memory that is not page-locked they wait; the call does not tell.
    RUNTIME(cudaMemcpyAsync, _v3020, kWork),
    RUNTIME(cudaMemcpyAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpy2DAsync, _v3020, kWork),
    RUNTIME(cudaMemcpy2DAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpy3DAsync, _v3020, kWork),
    RUNTIME(cudaMemcpy3DAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpyToSymbolAsync, _v3020, kWork),
    RUNTIME(cudaMemcpyToSymbolAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpyFromSymbolAsync, _v3020, kWork),
    RUNTIME(cudaMemcpyFromSymbolAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpyToArrayAsync, _v3020, kWork),
    RUNTIME(cudaMemcpyToArrayAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpyFromArrayAsync, _v3020, kWork),
    RUNTIME(cudaMemcpyFromArrayAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpy2DToArrayAsync, _v3020, kWork),
    RUNTIME(cudaMemcpy2DToArrayAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpy2DFromArrayAsync, _v3020, kWork),
    RUNTIME(cudaMemcpy2DFromArrayAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpyArrayToArray, _v3020, kWork),
    RUNTIME(cudaMemcpyArrayToArray, _ptds_v7000, kWork),
    RUNTIME(cudaMemcpy2DArrayToArray, _v3020, kWork),
    RUNTIME(cudaMemcpy2DArrayToArray, _ptds_v7000, kWork),
    RUNTIME(cudaMemcpyPeer, _v4000, kWork),
    RUNTIME(cudaMemcpyPeerAsync, _v4000, kWork),
    RUNTIME(cudaMemcpy3DPeer, _v4000, kWork),
    RUNTIME(cudaMemcpy3DPeer, _ptds_v7000, kWork),
    RUNTIME(cudaMemcpy3DPeerAsync, _v4000, kWork),
    RUNTIME(cudaMemcpy3DPeerAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemcpyBatchAsync, _v12080, kWork),
    RUNTIME(cudaMemcpyBatchAsync, _ptsz_v12080, kWork),
    RUNTIME(cudaMemcpyBatchAsync, _v13000, kWork),
    RUNTIME(cudaMemcpyBatchAsync, _ptsz_v13000, kWork),
    RUNTIME(cudaMemcpy3DBatchAsync, _v12080, kWork),
    RUNTIME(cudaMemcpy3DBatchAsync, _ptsz_v12080, kWork),
    RUNTIME(cudaMemcpy3DBatchAsync, _v13000, kWork),
    RUNTIME(cudaMemcpy3DBatchAsync, _ptsz_v13000, kWork),
    DRIVER(cuMemcpyAsync, , kWork),
    DRIVER(cuMemcpyAsync, _ptsz, kWork),
    DRIVER(cuMemcpyHtoDAsync, _v2, kWork),
    DRIVER(cuMemcpyHtoDAsync, _v2_ptsz, kWork),
    DRIVER(cuMemcpyDtoHAsync, _v2, kWork),
    DRIVER(cuMemcpyDtoHAsync, _v2_ptsz, kWork),
    DRIVER(cuMemcpyDtoD, _v2, kWork),
    DRIVER(cuMemcpyDtoD, _v2_ptds, kWork),
    DRIVER(cuMemcpyDtoDAsync, _v2, kWork),
    DRIVER(cuMemcpyDtoDAsync, _v2_ptsz, kWork),
    DRIVER(cuMemcpyDtoA, _v2, kWork),
    DRIVER(cuMemcpyDtoA, _v2_ptds, kWork),
    DRIVER(cuMemcpyAtoD, _v2, kWork),
    DRIVER(cuMemcpyAtoD, _v2_ptds, kWork),
    DRIVER(cuMemcpyAtoA, _v2, kWork),
    DRIVER(cuMemcpyAtoA, _v2_ptds, kWork),
    DRIVER(cuMemcpyHtoAAsync, _v2, kWork),
    DRIVER(cuMemcpyHtoAAsync, _v2_ptsz, kWork),
    DRIVER(cuMemcpyAtoHAsync, _v2, kWork),
    DRIVER(cuMemcpyAtoHAsync, _v2_ptsz, kWork),
    DRIVER(cuMemcpy2DAsync, _v2, kWork),
    DRIVER(cuMemcpy2DAsync, _v2_ptsz, kWork),
    DRIVER(cuMemcpy3DAsync, _v2, kWork),
    DRIVER(cuMemcpy3DAsync, _v2_ptsz, kWork),
    DRIVER(cuMemcpyPeer, , kWork),
    DRIVER(cuMemcpyPeer, _ptds, kWork),
    DRIVER(cuMemcpyPeerAsync, , kWork),
    DRIVER(cuMemcpyPeerAsync, _ptsz, kWork),
    DRIVER(cuMemcpy3DPeer, , kWork),
    DRIVER(cuMemcpy3DPeer, _ptds, kWork),
    DRIVER(cuMemcpy3DPeerAsync, , kWork),
    DRIVER(cuMemcpy3DPeerAsync, _ptsz, kWork),
    DRIVER(cuMemcpyBatchAsync, , kWork),
    DRIVER(cuMemcpyBatchAsync, _ptsz, kWork),
    DRIVER(cuMemcpyBatchAsync, _v2, kWork),
    DRIVER(cuMemcpyBatchAsync, _v2_ptsz, kWork),
    DRIVER(cuMemcpy3DBatchAsync, , kWork),
    DRIVER(cuMemcpy3DBatchAsync, _ptsz, kWork),
    DRIVER(cuMemcpy3DBatchAsync, _v2, kWork),
    DRIVER(cuMemcpy3DBatchAsync, _v2_ptsz, kWork),

    // Filling memory, and moving managed memory ahead of its use. Even without Async they only order the work.
    RUNTIME(cudaMemset, _v3020, kWork),
    RUNTIME(cudaMemset, _ptds_v7000, kWork),
    RUNTIME(cudaMemset2D, _v3020, kWork),
    RUNTIME(cudaMemset2D, _ptds_v7000, kWork),
    RUNTIME(cudaMemset3D, _v3020, kWork),
    RUNTIME(cudaMemset3D, _ptds_v7000, kWork),
    RUNTIME(cudaMemsetAsync, _v3020, kWork),
    RUNTIME(cudaMemsetAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemset2DAsync, _v3020, kWork),
    RUNTIME(cudaMemset2DAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemset3DAsync, _v3020, kWork),
    RUNTIME(cudaMemset3DAsync, _ptsz_v7000, kWork),
    RUNTIME(cudaMemPrefetchAsync, _v8000, kWork),
    RUNTIME(cudaMemPrefetchAsync, _ptsz_v8000, kWork),
    RUNTIME(cudaMemPrefetchAsync, _v12020, kWork),
    RUNTIME(cudaMemPrefetchAsync, _ptsz_v12020, kWork),
    RUNTIME(cudaMemPrefetchBatchAsync, _v13000, kWork),
    RUNTIME(cudaMemPrefetchBatchAsync, _ptsz_v13000, kWork),
    RUNTIME(cudaMemDiscardAndPrefetchBatchAsync, _v13000, kWork),
    RUNTIME(cudaMemDiscardAndPrefetchBatchAsync, _ptsz_v13000, kWork),
    DRIVER(cuMemsetD8, _v2, kWork),
    DRIVER(cuMemsetD8, _v2_ptds, kWork),
    DRIVER(cuMemsetD8Async, , kWork),
    DRIVER(cuMemsetD8Async, _ptsz, kWork),
    DRIVER(cuMemsetD16, _v2, kWork),
    DRIVER(cuMemsetD16, _v2_ptds, kWork),
    DRIVER(cuMemsetD16Async, , kWork),
    DRIVER(cuMemsetD16Async, _ptsz, kWork),
    DRIVER(cuMemsetD32, _v2, kWork),
    DRIVER(cuMemsetD32, _v2_ptds, kWork),
    DRIVER(cuMemsetD32Async, , kWork),
    DRIVER(cuMemsetD32Async, _ptsz, kWork),
    DRIVER(cuMemsetD2D8, _v2, kWork),
    DRIVER(cuMemsetD2D8, _v2_ptds, kWork),
    DRIVER(cuMemsetD2D8Async, , kWork),
    DRIVER(cuMemsetD2D8Async, _ptsz, kWork),
    DRIVER(cuMemsetD2D16, _v2, kWork),
    DRIVER(cuMemsetD2D16, _v2_ptds, kWork),
    DRIVER(cuMemsetD2D16Async, , kWork),
    DRIVER(cuMemsetD2D16Async, _ptsz, kWork),
    DRIVER(cuMemsetD2D32, _v2, kWork),
    DRIVER(cuMemsetD2D32, _v2_ptds, kWork),
    DRIVER(cuMemsetD2D32Async, , kWork),
    DRIVER(cuMemsetD2D32Async, _ptsz, kWork),
    DRIVER(cuMemPrefetchAsync, , kWork),
    DRIVER(cuMemPrefetchAsync, _ptsz, kWork),
    DRIVER(cuMemPrefetchAsync, _v2, kWork),
    DRIVER(cuMemPrefetchAsync, _v2_ptsz, kWork),
    DRIVER(cuMemPrefetchBatchAsync, , kWork),
    DRIVER(cuMemPrefetchBatchAsync, _ptsz, kWork),
    DRIVER(cuMemDiscardAndPrefetchBatchAsync, , kWork),
    DRIVER(cuMemDiscardAndPrefetchBatchAsync, _ptsz, kWork),

    // Getting memory: from a microsecond out of a pool to milliseconds from the operating system.
    RUNTIME(cudaMalloc, _v3020, kWork),
    RUNTIME(cudaMallocPitch, _v3020, kWork),
    RUNTIME(cudaMallocArray, _v3020, kWork),
    RUNTIME(cudaMalloc3D, _v3020, kWork),
    RUNTIME(cudaMalloc3DArray, _v3020, kWork),
    RUNTIME(cudaMallocManaged, _v6000, kWork),
    RUNTIME(cudaMallocHost, _v3020, kWork),
    RUNTIME(cudaHostAlloc, _v3020, kWork),
    RUNTIME(cudaHostRegister, _v4000, kWork),
    RUNTIME(cudaMallocAsync, _v11020, kWork),
    RUNTIME(cudaMallocAsync, _ptsz_v11020, kWork),
    RUNTIME(cudaMallocFromPoolAsync, _v11020, kWork),
    RUNTIME(cudaMallocFromPoolAsync, _ptsz_v11020, kWork),
    RUNTIME(cudaFreeAsync, _v11020, kWork),
    RUNTIME(cudaFreeAsync, _ptsz_v11020, kWork),
    RUNTIME(cudaMemPoolTrimTo, _v11020, kWork),
    RUNTIME(cudaIpcOpenMemHandle, _v4010, kWork),
    DRIVER(cuMemAlloc, _v2, kWork),
    DRIVER(cuMemAllocPitch, _v2, kWork),
    DRIVER(cuArrayCreate, _v2, kWork),
    DRIVER(cuArray3DCreate, _v2, kWork),
    DRIVER(cuMemAllocManaged, , kWork),
    DRIVER(cuMemAllocHost, _v2, kWork),
    DRIVER(cuMemHostAlloc, , kWork),
    DRIVER(cuMemHostAlloc, _v2, kWork),
    DRIVER(cuMemHostRegister, , kWork),
    DRIVER(cuMemHostRegister, _v2, kWork),
    DRIVER(cuMemAllocAsync, , kWork),
    DRIVER(cuMemAllocAsync, _ptsz, kWork),
    DRIVER(cuMemAllocFromPoolAsync, , kWork),
    DRIVER(cuMemAllocFromPoolAsync, _ptsz, kWork),
    DRIVER(cuMemFreeAsync, , kWork),
    DRIVER(cuMemFreeAsync, _ptsz, kWork),
    DRIVER(cuMemPoolTrimTo, , kWork),
    DRIVER(cuIpcOpenMemHandle, , kWork),
    DRIVER(cuIpcOpenMemHandle, _v2, kWork),
    DRIVER(cuMemCreate, , kWork),  // from here: memory in steps, as PyTorch's expandable segments get it
    DRIVER(cuMemMap, , kWork),
    DRIVER(cuMemSetAccess, , kWork),
    DRIVER(cuMemUnmap, , kWork),
    DRIVER(cuMemRelease, , kWork),

    // Giving memory back waits until nothing uses it any more.
    RUNTIME(cudaFree, _v3020, kWait),
    RUNTIME(cudaFreeArray, _v3020, kWait),
    RUNTIME(cudaFreeHost, _v3020, kWait),
    RUNTIME(cudaHostUnregister, _v4000, kWait),
    DRIVER(cuMemFree, _v2, kWait),
    DRIVER(cuArrayDestroy, , kWait),
    DRIVER(cuMemFreeHost, , kWait),
    DRIVER(cuMemHostUnregister, , kWait),

    // Loading code onto the device, compiling and linking it. The runtime does the same inside a first call.
    RUNTIME(cudaLibraryLoadData, _v12060, kWork),
    RUNTIME(cudaLibraryLoadFromFile, _v12060, kWork),
    RUNTIME(cudaLibraryUnload, _v12060, kWork),
    DRIVER(cuModuleLoad, , kWork),
    DRIVER(cuModuleLoadData, , kWork),
    DRIVER(cuModuleLoadDataEx, , kWork),
    DRIVER(cuModuleLoadFatBinary, , kWork),
    DRIVER(cuModuleUnload, , kWork),
    DRIVER(cuLibraryLoadData, , kWork),
    DRIVER(cuLibraryLoadFromFile, , kWork),
    DRIVER(cuLibraryUnload, , kWork),
    DRIVER(cuLinkAddData, _v2, kWork),
    DRIVER(cuLinkAddFile, _v2, kWork),
    DRIVER(cuLinkComplete, , kWork),

    // Contexts: making one takes a large part of a second, on whichever call comes first.
    DRIVER(cuDevicePrimaryCtxRetain, , kWork),
    DRIVER(cuCtxCreate, _v2, kWork),
    DRIVER(cuCtxCreate, _v3, kWork),
    DRIVER(cuCtxCreate, _v4, kWork),
    RESET(RUNTIME, cudaDeviceReset, _v3020),
    RESET(RUNTIME, cudaThreadExit, _v3020),
    RESET(DRIVER, cuDevicePrimaryCtxReset, _v2),
    RESET(DRIVER, cuDevicePrimaryCtxRelease, _v2),
    RESET(DRIVER, cuCtxDestroy, _v2),
};
#undef RESET
#undef DRIVER
#undef RUNTIME

constexpr size_t kCudaCallCount = sizeof kCudaCalls / sizeof kCudaCalls[0];
static_assert(kCudaCallCount <= kMostCudaCalls);

namespace {

template <size_t size>
constexpr std::array<uint16_t, size> index_of(CUpti_CallbackDomain domain) {
  std::array<uint16_t, size> places{};
  for (size_t i = 0; i < size; i++) places[i] = static_cast<uint16_t>(kCudaCallCount);
  for (size_t i = 0; i < kCudaCallCount; i++) {
    if (kCudaCalls[i].domain == domain) places[kCudaCalls[i].cbid] = static_cast<uint16_t>(i);
  }
  return places;
}
constexpr auto kRuntimePlaces = index_of<CUPTI_RUNTIME_TRACE_CBID_SIZE>(CUPTI_CB_DOMAIN_RUNTIME_API);
constexpr auto kDriverPlaces = index_of<CUPTI_DRIVER_TRACE_CBID_SIZE>(CUPTI_CB_DOMAIN_DRIVER_API);

template <size_t size>
constexpr size_t count_in(const std::array<uint16_t, size>& places) {
  size_t found = 0;
  for (uint16_t place : places) found += place != kCudaCallCount;
  return found;
}
static_assert(count_in(kRuntimePlaces) + count_in(kDriverPlaces) == kCudaCallCount, "a call is in the table twice");

}  // namespace

size_t find_cuda_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid < kRuntimePlaces.size()) return kRuntimePlaces[cbid];
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < kDriverPlaces.size()) return kDriverPlaces[cbid];
  return kCudaCallCount;
}

}  // namespace rlscope::cuda
