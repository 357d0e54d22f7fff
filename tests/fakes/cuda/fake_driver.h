#pragma once

// What the parts of the fake libcuda.so.1 share: the cards and whether the driver has begun
// (cards.cc), their memory (memory.cc), faults. fake_cuda.cc says how it is told.
//
// Programs call a driver from atexit as well: nothing here has a destructor that runs then.

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

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
std::vector<std::string> entries(const std::string& text, char separator);
bool has_fault(const std::string& wanted);

/// Those that CUDA_VISIBLE_DEVICES showed when cuInit was first called.
const std::vector<Card>& cards();
/// None: there is no such device.
const Card* card(int device);
/// This very process called cuInit: what a parent began does not count, as with the driver.
bool has_begun();

/// What the function of that name answers whatever it is asked; 0: nothing of that kind.
int fault(const char* name);

/// The device of the calling thread's context; -1: it has none.
int current_device();
/// An illegal access: the contexts answer nothing else any more.
extern bool broken;

struct Allocation {
  std::size_t bytes;
  int device;
};
/// The allocation that these bytes lie in; 0 bytes of none: it is not device memory.
Allocation around(Address address, std::size_t bytes);
/// Gives back all that a device holds.
void release_memory(int device);

inline void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace fake
