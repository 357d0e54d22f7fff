#pragma once
// A small machine for PTX. It runs what the driver would compile for a card. It runs one thread of
// a block after the other, from barrier to barrier. It knows the instructions of simple kernels. A
// module with another instruction is refused, as a driver refuses what it cannot compile.

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

enum class Space { param, shared, global };

struct Operand {
  enum class Kind { reg, number, special, address } kind = Kind::number;
  int reg = -1;              // reg, address: -1 where an address has none
  std::uint64_t number = 0;  // number; what is added to an address
  int special = 0;           // 0 tid, 2 ctaid, 4 ntid, 6 nctaid; and 1 for y
};

enum class Op {
  mov,
  mad,
  mul,
  add,
  sub,
  shr,
  shl,
  bit_xor,
  bit_and,
  bit_or,
  rem,
  setp,
  bra,
  ld,
  st,
  cvt,
  cvta,
  fma,
  bar,
  ret
};
enum class Compare { lt, le, gt, ge, eq, ne };
/// ".u32", ".s64", ".f32", ".b32", ".pred".
struct Type {
  bool is_float = false;
  bool is_signed = false;
  bool is_wide = false;  // 64 bits
};

struct Instruction {
  Op op = Op::mov;
  std::vector<Operand> operands;
  int guard = -1;  // the predicate's register; -1: always
  bool guard_negated = false;
  std::size_t target = 0;  // of bra
  Type type;               // the last modifier
  Type to;                 // of cvt: what it becomes
  Compare compare = Compare::lt;
  bool takes_all = false;  // mul.wide, mad.wide: the whole product
  Space space = Space::global;
  int lanes = 1;
};

struct Function {
  std::vector<std::size_t> parameter_sizes;
  std::size_t registers = 0;
  std::size_t shared_bytes = 0;
  std::vector<Instruction> code;
};

using Module = std::map<std::string, Function>;

/// What it cannot read is said with its line.
[[nodiscard]] std::expected<Module, std::string> read(std::string_view text);

struct Grid {
  unsigned blocks_x, blocks_y, threads_x, threads_y;
};

/// `reachable`: whether these bytes are the device's own. False: something went out of its bounds.
[[nodiscard]] bool run(
    const Function& function, const Grid& grid, const std::vector<std::uint64_t>& parameters,
    const std::function<bool(std::uint64_t address, std::size_t bytes)>& reachable);

}  // namespace ptx
