// Lists this machine's GPUs: each one's name, how full it is, and its users.

#include <berth/berth.hpp>
#include <cstdio>
#include <string>

// A reading that is missing says why. It is never 0, and never a guess.
std::string in_gib(const berth::Reading<berth::Bytes>& bytes) {
  if (!bytes.has()) return berth::name_of(bytes.why());
  return std::to_string((*bytes).count() >> 30) + " GiB";
}

const char* word_for(berth_state state) {
  switch (state) {
    case BERTH_FREE:
      return "free";
    case BERTH_LEASED:
      return "leased";
    case BERTH_BUSY:
      return "busy";
    default:  // the others are in berth.h, and a newer library may have more
      return "not free";
  }
}

int main() {
  auto berth = berth::Berth::open();
  if (!berth) {
    std::fprintf(stderr, "%s\n", berth.error().message().c_str());
    return 1;
  }
  const auto look = berth->look();
  if (!look) {
    std::fprintf(stderr, "%s\n", look.error().message().c_str());
    return 1;
  }
  for (const berth::Device& device : look->devices()) {
    std::printf("%d  %s  %s  %s of %s used", device.index.value_or(-1), device.name.c_str(),
                word_for(device.state), in_gib(device.memory_used).c_str(),
                in_gib(device.memory_total).c_str());
    if (!device.users.empty()) std::printf("  by %s", device.users.c_str());
    std::printf("\n");
  }
  return 0;
}
