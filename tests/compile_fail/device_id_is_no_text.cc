// A text does not become a device's identity by itself.
#include "base/ids.h"

using namespace berth;

#ifdef BAD
DeviceId id = std::string("GPU-1");
#else
DeviceId id{std::string("GPU-1")};
#endif
