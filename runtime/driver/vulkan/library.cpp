// Finding Vulkan's loader and its functions. The only file of the driver that calls the system's loader.
#include "driver/vulkan/library.h"

#include <cstdlib>
#include <dlfcn.h>

namespace metate::vulkan {

namespace {

metate_status failMissing(const char *function) {
  return fail(METATE_E_UNSUPPORTED,
              "vulkan: the driver has no function vk%s: expected Vulkan 1.2 or later: install a "
              "newer one",
              function);
}

template <typename Function>
metate_status globalFunction(const Library &library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(library.instanceFunction(nullptr, name));
  return *function ? METATE_OK : failMissing(name + 2);
}

} // namespace

metate_status open(Library *library) {
  const char *named = getenv("METATE_VULKAN_LIBRARY");
  const char *path = named && *named ? named : "libvulkan.so.1";
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return fail(METATE_E_UNSUPPORTED,
                "vulkan: this machine has no loader of Vulkan's: cannot load '%s': %s", path,
                reason ? reason : "unknown reason");
  }
  library->instanceFunction =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(handle, "vkGetInstanceProcAddr"));
  if (!library->instanceFunction)
    return fail(METATE_E_UNSUPPORTED,
                "vulkan: '%s' is no loader of Vulkan's: it has no function vkGetInstanceProcAddr",
                path);
  return METATE_OK;
}

metate_status createInstance(const Library &library, VkInstance *instance) {
  PFN_vkEnumerateInstanceVersion askVersion = nullptr;
  PFN_vkCreateInstance create = nullptr;
  METATE_TRY(globalFunction(library, "vkEnumerateInstanceVersion", &askVersion));
  METATE_TRY(globalFunction(library, "vkCreateInstance", &create));
  uint32_t version = 0;
  if (askVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_2)
    return fail(METATE_E_UNSUPPORTED,
                "vulkan: the loader is of Vulkan %u.%u: expected at least 1.2: install a newer one",
                VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pEngineName = "metate";
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkResult result = create(&info, nullptr, instance);
  if (result == VK_SUCCESS)
    return METATE_OK;
  *instance = nullptr;
  return fail(METATE_E_UNSUPPORTED, "vulkan: %s: vkCreateInstance: %s",
              result == VK_ERROR_INCOMPATIBLE_DRIVER ? "this machine has no driver of Vulkan's"
                                                     : "the driver does not start",
              nameOf(result));
}

metate_status findFunctions(Library *library, VkInstance instance) {
#define METATE_VULKAN_FIND(symbol, name)                                                           \
  if (auto found = library->instanceFunction(instance, "vk" #symbol))                              \
    library->name = reinterpret_cast<PFN_vk##symbol>(found);                                       \
  else                                                                                             \
    return failMissing(#symbol);
  METATE_VULKAN_INSTANCE_FUNCTIONS(METATE_VULKAN_FIND)
#undef METATE_VULKAN_FIND
  return METATE_OK;
}

metate_status findFunctions(Library *library, VkDevice device) {
#define METATE_VULKAN_FIND(symbol, name)                                                           \
  if (auto found = library->deviceFunction(device, "vk" #symbol))                                  \
    library->name = reinterpret_cast<PFN_vk##symbol>(found);                                       \
  else                                                                                             \
    return failMissing(#symbol);
  METATE_VULKAN_DEVICE_FUNCTIONS(METATE_VULKAN_FIND)
#undef METATE_VULKAN_FIND
  return METATE_OK;
}

const char *nameOf(VkResult result) {
#define METATE_VULKAN_NAME(name)                                                                   \
  case name:                                                                                       \
    return #name;
  switch (result) {
    METATE_VULKAN_NAME(VK_NOT_READY)
    METATE_VULKAN_NAME(VK_TIMEOUT)
    METATE_VULKAN_NAME(VK_INCOMPLETE)
    METATE_VULKAN_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    METATE_VULKAN_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    METATE_VULKAN_NAME(VK_ERROR_INITIALIZATION_FAILED)
    METATE_VULKAN_NAME(VK_ERROR_DEVICE_LOST)
    METATE_VULKAN_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    METATE_VULKAN_NAME(VK_ERROR_LAYER_NOT_PRESENT)
    METATE_VULKAN_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    METATE_VULKAN_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    METATE_VULKAN_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    METATE_VULKAN_NAME(VK_ERROR_TOO_MANY_OBJECTS)
    METATE_VULKAN_NAME(VK_ERROR_FRAGMENTED_POOL)
    METATE_VULKAN_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
    METATE_VULKAN_NAME(VK_ERROR_FRAGMENTATION)
    METATE_VULKAN_NAME(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
    METATE_VULKAN_NAME(VK_ERROR_INVALID_SHADER_NV)
    METATE_VULKAN_NAME(VK_ERROR_UNKNOWN)
  default:
    return "an unknown error";
  }
#undef METATE_VULKAN_NAME
}

} // namespace metate::vulkan
