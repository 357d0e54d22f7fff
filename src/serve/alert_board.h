#pragma once
// What the API shows of alerts: as of one moment, never changed afterwards.

#include <vector>

#include "alert/alert.h"
#include "serve/delivery_queue.h"

namespace berth::serve {

struct AlertBoard {
  std::vector<Alert> active;  // worst first
  std::vector<Alert> ended;   // the newest first
  std::vector<DeliveryFigures> deliveries;
};

}  // namespace berth::serve
