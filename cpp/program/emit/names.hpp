// Names of C++ for values: the user's where there is one, all different.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace tilewright::program {

class Names {
 public:
  // A name like the one that is wanted: `mA.shape[0]` becomes mA_shape_0, a second one mA_shape_0_2.
  std::string unique(std::string_view wanted);

 private:
  std::unordered_set<std::string> taken_;
};

}  // namespace tilewright::program
