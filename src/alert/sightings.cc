#include "alert/sightings.h"

#include "alert/rules_parts.h"

namespace berth {

Sightings sightings(const AlertLook& look, const AlertSettings& settings) {
  Sightings found;
  const alert::Round round{.look = look, .settings = settings, .found = found};
  alert::see_devices(round);
  alert::see_xids(round);
  alert::see_disks(round);
  alert::see_sources(round);
  alert::see_environment(round);
  return found;
}

}  // namespace berth
