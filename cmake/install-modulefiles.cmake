# SPDX-License-Identifier: BSD-2-Clause
#
# At install time: modulefiles for Lmod and for Environment Modules.  Variables: see Site.cmake.
set(place ${CMAKE_INSTALL_PREFIX}/${JOBSTACK_DATADIR}/jobstack/modulefiles)
configure_file(${JOBSTACK_SOURCE}/cmake/packaging/modulefiles/jobstack.lua.in ${JOBSTACK_SITE}/${JOBSTACK_VERSION}.lua @ONLY)
configure_file(${JOBSTACK_SOURCE}/cmake/packaging/modulefiles/jobstack.tcl.in ${JOBSTACK_SITE}/${JOBSTACK_VERSION} @ONLY)
file(INSTALL ${JOBSTACK_SITE}/${JOBSTACK_VERSION}.lua DESTINATION ${place}/lmod/jobstack)
file(INSTALL ${JOBSTACK_SITE}/${JOBSTACK_VERSION} DESTINATION ${place}/tcl/jobstack)
