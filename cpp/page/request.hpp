// A request in JSON: one object of texts, numbers and yes or no.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tilewright::page {

// The fields of an object, each as text; those that are null are left out. KindError where it is none.
using Fields = std::map<std::string, std::string, std::less<>>;
Fields fields_of(std::string_view json);

}  // namespace tilewright::page
