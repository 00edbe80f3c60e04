# SPDX-License-Identifier: BSD-2-Clause
#
# Manual pages and completions for bash and zsh.  They are made at build time, by the --spec of the built programs: so a
# new command or option has them without further work.  Each program is a command of its own here, because CMake then
# runs it under CMAKE_CROSSCOMPILING_EMULATOR.  The makers are awk, which every system has, and run only here; nothing
# of them is in the tools.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
	message(STATUS "cross-compiling without CMAKE_CROSSCOMPILING_EMULATOR: no manual pages and completions")
	return()
endif()
find_program(AWK_PROGRAM NAMES awk gawk mawk)
if(NOT AWK_PROGRAM)
	message(STATUS "no awk: no manual pages and completions")
	return()
endif()
string(TIMESTAMP today "%Y-%m-%d" UTC) # of $SOURCE_DATE_EPOCH, if that is set
set(documents ${PROJECT_BINARY_DIR}/documents)
file(GLOB prose CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.md)
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/jobstack/*.h)
file(GLOB makers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/*.awk ${PROJECT_SOURCE_DIR}/cmake/packaging/completion/*)
add_custom_command(OUTPUT ${documents}/stamp
	COMMAND ${CMAKE_COMMAND} -E make_directory ${documents}
	COMMAND jobstack --spec --no-server > ${documents}/spec.jobstack
	COMMAND jobstack-server --spec > ${documents}/spec.server
	COMMAND ${AWK_PROGRAM} -f ${PROJECT_SOURCE_DIR}/cmake/spec.awk ${documents}/spec.server ${documents}/spec.jobstack
		> ${documents}/spec
	COMMAND ${CMAKE_COMMAND} -E env AWK=${AWK_PROGRAM} ${PROJECT_SOURCE_DIR}/cmake/make-documents
		${documents}/spec ${PROJECT_SOURCE_DIR} ${documents} ${PROJECT_VERSION} ${today}
	COMMAND ${CMAKE_COMMAND} -E touch ${documents}/stamp
	DEPENDS jobstack jobstack-server ${prose} ${makers} ${PROJECT_SOURCE_DIR}/cmake/make-documents
		${headers}
	COMMENT "Making manual pages and completions" VERBATIM)
add_custom_target(documents ALL DEPENDS ${documents}/stamp)

install(DIRECTORY ${documents}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools FILES_MATCHING PATTERN "*.1")
install(DIRECTORY ${documents}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man7 COMPONENT tools FILES_MATCHING PATTERN "*.7")
install(DIRECTORY ${documents}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT devel FILES_MATCHING PATTERN "*.3")
install(FILES ${documents}/completion/jobstack ${documents}/completion/jobstack-worker
	DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
install(FILES ${documents}/completion/_jobstack DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT tools)
