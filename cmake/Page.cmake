# SPDX-License-Identifier: BSD-2-Clause
#
# The page of `jobstack report --html`.  Makes page_data.c of src/show/page.html, page.css and page.js: the page as far
# as its data, and what stands behind them.  The page's policy permits only the style and the script that it has by its
# build, and names them by their SHA-256.

# SHA-256 of a file in base64, as a policy writes it.
function(hash_of_file file result)
	set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
	file(SHA256 ${file} hex)
	string(APPEND hex 00) # 33 bytes are 11 times 24 bits
	set(coded)
	foreach(at RANGE 0 60 6)
		string(SUBSTRING ${hex} ${at} 6 part)
		foreach(shift 18 12 6 0)
			math(EXPR digit "(0x${part} >> ${shift}) & 63")
			string(SUBSTRING ${digits} ${digit} 1 digit)
			string(APPEND coded ${digit})
		endforeach()
	endforeach()
	string(REGEX REPLACE ".$" "=" coded ${coded})
	set(${result} ${coded} PARENT_SCOPE)
endfunction()

set(page_dir ${PROJECT_SOURCE_DIR}/src/show)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_dir}/page.html ${page_dir}/page.css
	${page_dir}/page.js)
file(READ ${page_dir}/page.html page)
file(READ ${page_dir}/page.css page_style)
file(READ ${page_dir}/page.js page_script)
hash_of_file(${page_dir}/page.css page_style_hash)
hash_of_file(${page_dir}/page.js page_script_hash)
foreach(part style script style_hash script_hash)
	string(REPLACE "@${part}@" "${page_${part}}" page "${page}")
endforeach()
string(FIND "${page}" "@data@" page_at)
string(SUBSTRING "${page}" 0 ${page_at} page_head)
math(EXPR page_at "${page_at} + 6")
string(SUBSTRING "${page}" ${page_at} -1 page_tail)
foreach(part head tail)
	string(HEX "${page_${part}}" page_${part})
	string(REGEX REPLACE "(..)" "0x\\1," page_${part} "${page_${part}}")
endforeach()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/page_data.c CONTENT "#include \"show/page.h\"
const char show_page_head[] = {${page_head}0}, show_page_tail[] = {${page_tail}0};
")
target_sources(js_show PRIVATE ${PROJECT_BINARY_DIR}/page_data.c)
