# SPDX-License-Identifier: BSD-2-Clause
# Finds jansson (JSON).  Gives the target Jansson::Jansson.
find_path(Jansson_INCLUDE_DIR jansson.h)
find_library(Jansson_LIBRARY NAMES jansson)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Jansson REQUIRED_VARS Jansson_LIBRARY Jansson_INCLUDE_DIR
	REASON_FAILURE_MESSAGE "on Debian: apt-get install libjansson-dev, on RHEL: dnf install jansson-devel")
if(Jansson_FOUND AND NOT TARGET Jansson::Jansson)
	add_library(Jansson::Jansson UNKNOWN IMPORTED)
	set_target_properties(Jansson::Jansson PROPERTIES IMPORTED_LOCATION ${Jansson_LIBRARY}
		INTERFACE_INCLUDE_DIRECTORIES ${Jansson_INCLUDE_DIR})
endif()
