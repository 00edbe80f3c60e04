# SPDX-License-Identifier: BSD-2-Clause
#
# cpack -G DEB, cpack -G RPM (and TGZ).  Four packages: jobstack, jobstack-slurm (the module, which hangs on one release of
# libslurm), libjobstack2 and libjobstack-dev; on RPM systems -libs and -devel.  They go to /usr, wherever `cmake --install`
# would install to; -DCPACK_PACKAGING_INSTALL_PREFIX names another place.
set(JOBSTACK_PACKAGE_CONTACT "the jobstack authors <jobstack@localhost>" CACHE STRING
	"who built the packages: NAME <MAIL>")
set(CPACK_PACKAGE_NAME jobstack)
set(CPACK_PACKAGE_VENDOR "the jobstack authors")
set(CPACK_PACKAGE_CONTACT "${JOBSTACK_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "durable queue of files for Slurm clusters")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
	OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
if(NOT CPACK_PACKAGING_INSTALL_PREFIX)
	set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
set(CPACK_COMPONENTS_ALL tools library devel)
if(TARGET jobstack_slurm)
	list(APPEND CPACK_COMPONENTS_ALL slurm)
endif()
set(about_tools "durable queue of files for Slurm clusters
Spreads a list of files over the nodes of a Slurm cluster, or over the
processors of one machine, runs a command on each, and keeps account of
how each ended. The list lives in MySQL or MariaDB: a centre's, or a
private server that the command starts itself.")
set(about_slurm "durable queue of files: questions to Slurm
The module by which jobstack asks Slurm whether a job has ended. It needs
the release of libslurm that it was built with; without it everything else
works.")
set(about_library "durable queue of files: the library
libjobstack, for programs that push, pop and close entries themselves.")
set(about_devel "durable queue of files: header and static library
For building programs with libjobstack.")

# Debian
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME jobstack)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
# for `jobstack server`: the programs of a server, without the service; my_print_defaults is among the client's
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS
	"mariadb-server-core | virtual-mysql-server-core, mariadb-client-core | virtual-mysql-client-core")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "jobstack-slurm, slurm-client, bash-completion")
set(CPACK_DEBIAN_SLURM_PACKAGE_NAME jobstack-slurm)
set(CPACK_DEBIAN_SLURM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SLURM_PACKAGE_DEPENDS "jobstack (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_SLURM_PACKAGE_ENHANCES slurm-client)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libjobstack${JOBSTACK_ABI})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/packaging/deb/triggers)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_DEVEL_PACKAGE_NAME libjobstack-dev)
set(CPACK_DEBIAN_DEVEL_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVEL_PACKAGE_DEPENDS
	"libjobstack${JOBSTACK_ABI} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libmariadb-dev | libmysqlclient-dev, libssl-dev")

# RPM.  What a package needs of libraries is found by rpmbuild.
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_LICENSE BSD-2-Clause)
set(CPACK_RPM_PACKAGE_GROUP Applications/Engineering)
# the shim for Perl is there to be copied: it asks for no perl
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __requires_exclude ^perl
%define __provides_exclude ^perl")
set(CPACK_RPM_TOOLS_PACKAGE_NAME jobstack)
set(CPACK_RPM_SLURM_PACKAGE_NAME jobstack-slurm)
set(CPACK_RPM_SLURM_PACKAGE_REQUIRES "jobstack = ${PROJECT_VERSION}-${CPACK_RPM_PACKAGE_RELEASE}")
set(CPACK_RPM_LIBRARY_PACKAGE_NAME jobstack-libs)
set(CPACK_RPM_LIBRARY_POST_INSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/cmake/packaging/rpm/ldconfig)
set(CPACK_RPM_LIBRARY_POST_UNINSTALL_SCRIPT_FILE ${PROJECT_SOURCE_DIR}/cmake/packaging/rpm/ldconfig)
set(CPACK_RPM_DEVEL_PACKAGE_NAME jobstack-devel)
set(CPACK_RPM_DEVEL_PACKAGE_REQUIRES "jobstack-libs = ${PROJECT_VERSION}-${CPACK_RPM_PACKAGE_RELEASE}")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/systemd /usr/lib/systemd/user /usr/lib/systemd/system
	/usr/share/man /usr/share/man/man1 /usr/share/man/man3 /usr/share/man/man7 /usr/share/bash-completion
	/usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions /usr/lib/pkgconfig /usr/lib/cmake
	/usr/lib64/pkgconfig /usr/lib64/cmake /usr/${CMAKE_INSTALL_LIBDIR} /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig
	/usr/${CMAKE_INSTALL_LIBDIR}/cmake)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
	string(TOUPPER ${component} upper)
	string(REGEX REPLACE "\n.*" "" summary "${about_${component}}")
	string(REPLACE "${summary}\n" "" text "${about_${component}}")
	set(CPACK_COMPONENT_${upper}_DESCRIPTION "${text}")
	set(CPACK_DEBIAN_${upper}_DESCRIPTION "${text}")
	set(CPACK_RPM_${upper}_PACKAGE_SUMMARY "${summary}")
	set(CPACK_RPM_${upper}_PACKAGE_DESCRIPTION "${text}")
endforeach()

# What distributions want to have otherwise: compressed pages, copyright and changelog in their places.
set(CPACK_JOBSTACK_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/finish-package.cmake)
include(CPack)
