#pragma once
/* What the shim knows of the driver's ABI, as cuda.h of CUDA 11 to 13 has it: CUresult, CUdevice
 * and enums are ints, CUdeviceptr is 64 bits wide (32 in functions of CUDA 2), handles are
 * pointers. */

#include <stddef.h>
#include <stdint.h>

typedef unsigned long long address; /* CUdeviceptr; CUmemGenericAllocationHandle */
typedef unsigned int old_address;   /* CUdeviceptr_v1 */
typedef unsigned long long flags64;

enum {
  success = 0,
  out_of_memory = 2, /* the only error that is ours */
  no_device = 100,   /* there is no driver to ask */
  not_found = 500    /* the driver has no such function */
};

enum {
  location_device = 1,       /* CU_MEM_LOCATION_TYPE_DEVICE */
  pool_reserved = 5,         /* CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT */
  pool_used = 7,             /* CU_MEMPOOL_ATTR_USED_MEM_CURRENT */
  graph_memory_used = 0,     /* CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT */
  graph_memory_reserved = 2, /* CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT */
  node_of_graph = 4,         /* CU_GRAPH_NODE_TYPE_GRAPH */
  node_of_allocation = 10    /* CU_GRAPH_NODE_TYPE_MEM_ALLOC */
};

/* How CUmemAllocationProp and CUmemPoolProps begin. */
struct located {
  int type;
  int handle_types;
  int location_type;
  int location; /* the device's number */
};

/* CUDA_MEM_ALLOC_NODE_PARAMS: CUmemPoolProps has 88 bytes. */
struct allocation_node {
  struct located where;
  char rest_of_properties[72];
  const void* access;
  size_t access_count;
  size_t bytes;
  address result;
};
_Static_assert(offsetof(struct allocation_node, bytes) == 104, "as in cuda.h");

/* CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR, of CUDA 2 and since. */
struct old_array {
  unsigned width, height;
  int format;
  unsigned channels;
};
struct array {
  size_t width, height;
  int format;
  unsigned channels;
};
struct old_array_3d {
  unsigned width, height, depth;
  int format;
  unsigned channels, flags;
};
struct array_3d {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
_Static_assert(sizeof(struct array_3d) == 40, "as in cuda.h");
enum {
  array_layered = 1, /* depth counts layers: CUDA_ARRAY3D_LAYERED */
  array_cubemap = 4, /* depth counts faces: CUDA_ARRAY3D_CUBEMAP */
  array_sparse = 0x40,
  array_deferred = 0x80 /* both: memory is mapped later */
};
