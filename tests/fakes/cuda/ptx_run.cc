// Runs instructions. A register is 64 bits; what it means is each instruction's type.

#include <bit>
#include <cmath>
#include <cstring>

#include "ptx_machine.h"

namespace ptx {

namespace {

struct Thread {
  std::vector<std::uint64_t> registers;
  std::size_t at = 0;
  bool done = false;
  unsigned x = 0, y = 0;
};

struct Block {
  const Grid& grid;
  const std::vector<std::uint64_t>& parameters;
  const std::function<bool(std::uint64_t, std::size_t)>& reachable;
  unsigned x = 0, y = 0;
  std::vector<char> shared;
};

float as_float(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
std::uint64_t from_float(float value) { return std::bit_cast<std::uint32_t>(value); }

/// Cut to the type's width; a signed one keeps its sign in all 64 bits.
std::uint64_t cut(std::uint64_t value, Type type) {
  if (type.is_wide) return value;
  if (type.is_signed) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
  }
  return static_cast<std::uint32_t>(value);
}

class Machine {
 public:
  Machine(const Function& function, Block& block) : function_(function), block_(block) {}

  /// On to the next barrier or the end; false: out of bounds.
  bool go_on(Thread& thread) {
    for (;;) {
      const Instruction& step = function_.code.at(thread.at);
      ++thread.at;
      if (step.guard >= 0 &&
          (thread.registers[static_cast<std::size_t>(step.guard)] != 0) == step.guard_negated) {
        continue;
      }
      if (step.op == Op::ret) {
        thread.done = true;
        return true;
      }
      if (step.op == Op::bar) return true;
      if (step.op == Op::bra) {
        thread.at = step.target;
      } else if (step.op == Op::ld || step.op == Op::st) {
        if (!move_memory(thread, step)) return false;
      } else {
        thread.registers[static_cast<std::size_t>(step.operands[0].reg)] = compute(thread, step);
      }
      if (thread.at >= function_.code.size()) {
        thread.done = true;
        return true;
      }
    }
  }

 private:
  std::uint64_t value(const Thread& thread, const Operand& operand) const {
    if (operand.kind == Operand::Kind::reg) {
      return thread.registers[static_cast<std::size_t>(operand.reg)];
    }
    if (operand.kind == Operand::Kind::number) return operand.number;
    const unsigned all[] = {thread.x,
                            thread.y,
                            block_.x,
                            block_.y,
                            block_.grid.threads_x,
                            block_.grid.threads_y,
                            block_.grid.blocks_x,
                            block_.grid.blocks_y};
    return all[operand.special];
  }

  bool move_memory(Thread& thread, const Instruction& step) {
    const bool is_load = step.op == Op::ld;
    const Operand& where = is_load ? step.operands.back() : step.operands.front();
    const std::size_t size = step.type.is_wide ? 8 : 4;
    const auto lanes = static_cast<std::size_t>(step.lanes);
    if (step.space == Space::param) {
      thread.registers[static_cast<std::size_t>(step.operands[0].reg)] =
          block_.parameters.at(where.number);
      return true;
    }
    std::uint64_t address = where.number;
    if (where.reg >= 0) address += thread.registers[static_cast<std::size_t>(where.reg)];
    char* bytes = nullptr;
    if (address % (size * lanes) != 0) return false;
    if (step.space == Space::shared) {
      if (address + size * lanes > block_.shared.size()) return false;
      bytes = block_.shared.data() + address;
    } else {
      if (!block_.reachable(address, size * lanes)) return false;
      bytes = std::bit_cast<char*>(address);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto reg = static_cast<std::size_t>(step.operands[is_load ? lane : lane + 1].reg);
      if (is_load) {
        thread.registers[reg] = 0;
        std::memcpy(&thread.registers[reg], bytes + lane * size, size);
      } else {
        std::memcpy(bytes + lane * size, &thread.registers[reg], size);
      }
    }
    return true;
  }

  std::uint64_t compute(const Thread& thread, const Instruction& step) const {
    const auto a = step.operands.size() > 1 ? value(thread, step.operands[1]) : 0;
    const auto b = step.operands.size() > 2 ? value(thread, step.operands[2]) : 0;
    const auto c = step.operands.size() > 3 ? value(thread, step.operands[3]) : 0;
    switch (step.op) {
      case Op::setp:
        return compare(step, a, b) ? 1 : 0;
      case Op::mov:
      case Op::cvta:
        return a;
      case Op::cvt:
        return convert(step, a);
      default:
        break;
    }
    if (step.type.is_float) return on_floats(step.op, as_float(a), as_float(b), as_float(c));
    return on_whole(step, cut(a, step.type), cut(b, step.type), c);
  }

  static std::uint64_t on_floats(Op op, float a, float b, float c) {
    if (op == Op::fma) return from_float(std::fma(a, b, c));
    if (op == Op::add) return from_float(a + b);
    if (op == Op::sub) return from_float(a - b);
    return from_float(a * b);
  }

  static std::uint64_t on_whole(const Instruction& step, std::uint64_t x, std::uint64_t y,
                                std::uint64_t c) {
    const Type type = step.type;
    switch (step.op) {
      case Op::add:
        return cut(x + y, type);
      case Op::sub:
        return cut(x - y, type);
      case Op::bit_xor:
        return cut(x ^ y, type);
      case Op::bit_and:
        return cut(x & y, type);
      case Op::bit_or:
        return cut(x | y, type);
      case Op::shl:
        return cut(x << y, type);
      case Op::rem:
        return y == 0 ? 0 : cut(x % y, type);
      case Op::shr:
        return type.is_signed
                   ? cut(static_cast<std::uint64_t>(static_cast<std::int64_t>(x) >> y), type)
                   : cut(x >> y, type);
      case Op::mul:
        return step.takes_all ? x * y : cut(x * y, type);
      default:
        return step.takes_all ? x * y + c : cut(x * y + c, type);
    }
  }

  static bool compare(const Instruction& step, std::uint64_t a, std::uint64_t b) {
    const auto answer = [&](auto x, auto y) {
      switch (step.compare) {
        case Compare::lt:
          return x < y;
        case Compare::le:
          return x <= y;
        case Compare::gt:
          return x > y;
        case Compare::ge:
          return x >= y;
        case Compare::eq:
          return x == y;
        case Compare::ne:
          break;
      }
      return x != y;
    };
    if (step.type.is_float) return answer(as_float(a), as_float(b));
    const std::uint64_t x = cut(a, step.type);
    const std::uint64_t y = cut(b, step.type);
    if (step.type.is_signed) {
      return answer(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y));
    }
    return answer(x, y);
  }

  static std::uint64_t convert(const Instruction& step, std::uint64_t a) {
    const std::uint64_t value = cut(a, step.type);
    if (!step.to.is_float) return cut(value, step.to);
    return from_float(step.type.is_signed ? static_cast<float>(static_cast<std::int64_t>(value))
                                          : static_cast<float>(value));
  }

  const Function& function_;
  Block& block_;
};

bool run_block(const Function& function, Block& block) {
  Machine machine(function, block);
  std::vector<Thread> threads(std::size_t{block.grid.threads_x} * block.grid.threads_y);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].registers.assign(function.registers, 0);
    threads[i].x = static_cast<unsigned>(i % block.grid.threads_x);
    threads[i].y = static_cast<unsigned>(i / block.grid.threads_x);
  }
  for (bool any = true; any;) {
    any = false;
    for (Thread& thread : threads) {
      if (thread.done) continue;
      if (!machine.go_on(thread)) return false;
      any = any || !thread.done;
    }
  }
  return true;
}

}  // namespace

bool run(const Function& function, const Grid& grid, const std::vector<std::uint64_t>& parameters,
         const std::function<bool(std::uint64_t, std::size_t)>& reachable) {
  for (unsigned y = 0; y < grid.blocks_y; ++y) {
    for (unsigned x = 0; x < grid.blocks_x; ++x) {
      Block block{grid,      parameters,
                  reachable, x,
                  y,         std::vector<char>(function.shared_bytes, static_cast<char>(0xAB))};
      if (!run_block(function, block)) return false;
    }
  }
  return true;
}

}  // namespace ptx
