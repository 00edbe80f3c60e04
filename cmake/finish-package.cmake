# SPDX-License-Identifier: BSD-2-Clause
#
# Run by cpack between installing the files and packing them, once for all components: gives them the form that the
# distribution's policy wants.  Without it (CMake before 3.19) the packages work the same.
set(jobstack_root ${CPACK_TEMPORARY_DIRECTORY})

function(jobstack_tool result name)
	find_program(jobstack_${name} ${name})
	if(NOT jobstack_${name})
		message(FATAL_ERROR "${name} is needed to make packages")
	endif()
	set(${result} ${jobstack_${name}} PARENT_SCOPE)
endfunction()

if(CPACK_GENERATOR MATCHES "^(DEB|RPM)$")
	jobstack_tool(gzip gzip)
	file(GLOB pages ${jobstack_root}/*/usr/share/man/man*/*.[1-9])
	if(pages)
		execute_process(COMMAND ${gzip} -9nf ${pages} RESULT_VARIABLE failed)
		if(failed)
			message(FATAL_ERROR "gzip failed: ${failed}")
		endif()
	endif()
endif()

if(CPACK_GENERATOR STREQUAL "DEB")
	# the licence as Debian writes it
	file(STRINGS ${CPACK_JOBSTACK_SOURCE}/LICENSE lines)
	set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: jobstack\n\nFiles: *\n")
	file(READ ${CPACK_JOBSTACK_SOURCE}/LICENSE text)
	string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)" holder "${text}")
	string(APPEND copyright "Copyright: ${CMAKE_MATCH_1}\nLicense: BSD-2-Clause\n")
	string(REGEX MATCH "Redistribution and use.*" text "${text}")
	string(REGEX REPLACE "\n+$" "" text "${text}")
	string(REPLACE "\n\n" "\n.\n" text "${text}")
	string(REPLACE "\n" "\n " text "${text}")
	string(APPEND copyright " ${text}\n")
	string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC) # or $SOURCE_DATE_EPOCH
	foreach(component IN LISTS CPACK_COMPONENTS_ALL)
		string(TOUPPER ${component} upper)
		set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
		set(doc ${jobstack_root}/${component}/usr/share/doc/${package})
		file(MAKE_DIRECTORY ${doc})
		file(WRITE ${doc}/copyright "${copyright}")
		file(WRITE ${doc}/changelog.Debian "jobstack (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * jobstack ${CPACK_PACKAGE_VERSION}; its CHANGELOG.md has what has changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
		execute_process(COMMAND ${gzip} -9nf ${doc}/changelog.Debian)
		file(CHMOD_RECURSE ${doc} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
			DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
	endforeach()
	file(REMOVE ${jobstack_root}/tools/usr/share/doc/jobstack/LICENSE)
	if(EXISTS ${jobstack_root}/tools/usr/share/zsh/site-functions)
		file(RENAME ${jobstack_root}/tools/usr/share/zsh/site-functions ${jobstack_root}/tools/usr/share/zsh/vendor-completions)
	endif()
endif()
