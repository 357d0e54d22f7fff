#pragma once

// What the parts of the fake libcuda.so.1 share. That is the cards and whether the driver has begun
// (cards.cc), and what is used of them (usage.cc). Also memory with an address (memory.cc), and
// faults. fake_cuda.cc says how it is told.
//
// Programs call a driver from atexit as well: nothing here has a destructor that runs then.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "ptx_machine.h"

namespace fake {

using Address = unsigned long long;

constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int not_initialized = 3;
constexpr int no_device = 100;
constexpr int invalid_device = 101;
constexpr int invalid_context = 201;
constexpr int invalid_ptx = 218;
constexpr int not_found = 500;
constexpr int illegal_address = 700;
constexpr int not_supported = 801;

struct Card {
  std::size_t number = 0;  ///< its place in BERTH_FAKE_CUDA: as faults name it, whatever is shown
  std::string uuid;        ///< 32 hexadecimal digits
  std::string name;
  std::size_t bytes = 0;
  std::string pci;  ///< empty: nobody said where it is
  int major = 8;
  int minor = 0;
};

std::string variable(const char* name);
/// "4G", "300M", "17".
std::size_t bytes_of(const std::string& text);
std::vector<std::string> entries(const std::string& text, char separator);
bool has_fault(const std::string& wanted);

/// The cards that CUDA_VISIBLE_DEVICES showed when cuInit was first called.
const std::vector<Card>& cards();
/// None: there is no such device.
const Card* card(int device);
/// This very process called cuInit: what a parent began does not count, as with the driver.
bool has_begun();

/// The code that the function of that name must answer; 0: no such fault.
int fault(const char* name);

/// Memory of a card that is in use, by all processes that share BERTH_FAKE_CUDA_MEMORY. false: it
/// does not fit.
bool use(int device, std::size_t bytes);
void give_back(int device, std::size_t bytes);
/// As CUDA tells a program: a client of MPS what is left of its limit (driver 580, H200).
std::size_t free_of(int device);
std::size_t up_to(std::size_t bytes, std::size_t unit);

struct Context {
  int device = 0;
  int retained = 0;  ///< primary contexts alone; others end when they are destroyed
  std::size_t bytes = 0;
  std::vector<std::unique_ptr<ptx::Module>> modules;
};
extern thread_local Context* current;
/// The device of the calling thread's context; -1: it has none.
int current_device();
/// An illegal access: the contexts answer nothing else any more.
extern bool broken;

struct Pool {
  int device = 0;
  std::size_t reserved = 0, used = 0, threshold = 0;
  std::size_t live = 0;
  bool destroyed = false;
};
/// As it is when streams have been waited for.
void trim_pools();
/// An allocation of a pool is free; `bytes` as it was made.
void end_in_pool(Pool& pool, std::size_t bytes);

struct Allocation {
  std::size_t bytes;
  int device;
  std::size_t used = 0;              ///< of the card; 0: a pool's, a graph's, or imported
  const Context* context = nullptr;  ///< with which it ends
  Pool* pool = nullptr;
};
/// The allocation that these bytes lie in; 0 bytes of none: it is not device memory.
Allocation around(Address address, std::size_t bytes);
/// An address for what has been counted already; 0: the host has none. `low`: below 4 GiB.
Address place(const Allocation& one, bool low = false);
int free_allocation(Address address);
/// Gives back all that was allocated in a context.
void release_memory(const Context* context);
/// The function of that name that this library exports.
void* exported(const char* name);

inline void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace fake
