/* What a test and the loader that lies (fake_vulkan.cpp) say to each other. METATE_VULKAN_LIBRARY names the library; the test opens it
 * as the driver does, and finds `fake_vulkan`. All zeros: what the machine's own loader says. */
#ifndef METATE_TESTS_FAKE_VULKAN_H
#define METATE_TESTS_FAKE_VULKAN_H

typedef struct fake_vulkan_control {
  int isLost;             /* waiting and submitting say VK_ERROR_DEVICE_LOST */
  int hasNoDevices;       /* there is no physical device */
  int hasNoQueues;        /* none that computes */
  int hasNoAddresses;     /* buffers lie at 0 */
  unsigned loaderVersion; /* of the loader; 0: its own */
  unsigned deviceVersion; /* of devices; 0: their own */
  unsigned driver;        /* VkDriverId of devices; 0: their own */
  const char *feature;    /* that devices lack; NULL: none */
  const char *function;   /* that is not there; NULL: all are */
} fake_vulkan_control;

#endif
