# SPDX-License-Identifier: BSD-2-Clause
#
# At install time: JOBSTACK_PREFIX, where the files will be when they are used.  CPack installs into a directory that it then
# packs, with the name of the package's prefix below it.
get_filename_component(JOBSTACK_PREFIX "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
if(JOBSTACK_PREFIX MATCHES "/_CPack_Packages/.*(/usr(/local)?|/opt/.*)$")
	set(JOBSTACK_PREFIX ${CMAKE_MATCH_1})
endif()
