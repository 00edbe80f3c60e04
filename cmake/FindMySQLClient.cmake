# SPDX-License-Identifier: BSD-2-Clause
# Finds libmysqlclient: MariaDB Connector/C or Oracle's.  Gives the target MySQLClient::MySQLClient.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
	pkg_search_module(PC_MYSQLCLIENT QUIET libmariadb mysqlclient)
endif()
find_path(MySQLClient_INCLUDE_DIR mysql.h HINTS ${PC_MYSQLCLIENT_INCLUDE_DIRS} PATH_SUFFIXES mariadb mysql)
find_library(MySQLClient_LIBRARY NAMES mariadb mysqlclient HINTS ${PC_MYSQLCLIENT_LIBRARY_DIRS})
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MySQLClient REQUIRED_VARS MySQLClient_LIBRARY MySQLClient_INCLUDE_DIR
	REASON_FAILURE_MESSAGE "on Debian: apt-get install libmariadb-dev, on RHEL: dnf install mariadb-connector-c-devel")
if(MySQLClient_FOUND AND NOT TARGET MySQLClient::MySQLClient)
	add_library(MySQLClient::MySQLClient UNKNOWN IMPORTED)
	set_target_properties(MySQLClient::MySQLClient PROPERTIES IMPORTED_LOCATION ${MySQLClient_LIBRARY}
		INTERFACE_INCLUDE_DIRECTORIES ${MySQLClient_INCLUDE_DIR})
	if(MySQLClient_LIBRARY MATCHES "\\.a$") # what a static one needs itself
		find_package(OpenSSL REQUIRED)
		find_package(ZLIB REQUIRED)
		set_property(TARGET MySQLClient::MySQLClient PROPERTY INTERFACE_LINK_LIBRARIES OpenSSL::SSL ZLIB::ZLIB m ${CMAKE_DL_LIBS})
	endif()
endif()
