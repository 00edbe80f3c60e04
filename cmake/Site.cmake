# SPDX-License-Identifier: BSD-2-Clause
#
# Files that hold the prefix in them: modulefiles and systemd units.  They are filled in when they are installed, since
# `cmake --install --prefix` may name another prefix than the configuration did; in a package it is the package's.
set(site "set(JOBSTACK_SOURCE \"${PROJECT_SOURCE_DIR}\")
set(JOBSTACK_SITE \"${PROJECT_BINARY_DIR}/site\")
set(JOBSTACK_VERSION \"${PROJECT_VERSION}\")
set(JOBSTACK_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
set(JOBSTACK_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
set(JOBSTACK_MANDIR \"${CMAKE_INSTALL_MANDIR}\")
set(JOBSTACK_DATADIR \"${CMAKE_INSTALL_DATADIR}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/site-prefix.cmake\")")
foreach(part units modulefiles)
	set(component tools)
	if(part STREQUAL "modulefiles") # nothing for packages: what they install is found without
		set(component modulefiles)
	endif()
	install(CODE "${site}" COMPONENT ${component})
	install(SCRIPT cmake/install-${part}.cmake COMPONENT ${component})
endforeach()
