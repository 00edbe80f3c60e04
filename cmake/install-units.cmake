# SPDX-License-Identifier: BSD-2-Clause
#
# At install time: the systemd units, for users' own servers.  Variables: see Site.cmake.
configure_file(${JOBSTACK_SOURCE}/cmake/packaging/systemd/jobstack-server.service.in ${JOBSTACK_SITE}/jobstack-server.service @ONLY)
configure_file(${JOBSTACK_SOURCE}/cmake/packaging/systemd/jobstack-server@.service.in ${JOBSTACK_SITE}/jobstack-server@.service @ONLY)
file(INSTALL ${JOBSTACK_SITE}/jobstack-server.service DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/systemd/user)
file(INSTALL ${JOBSTACK_SITE}/jobstack-server@.service DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)
