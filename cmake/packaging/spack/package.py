# SPDX-License-Identifier: BSD-2-Clause
#
# UNTESTED: a recipe for Spack, written by its documentation; only its Python syntax was checked.
#
# There is no release to fetch yet, so it builds a source that is here:
#
#   spack repo create jobstack-repo && mkdir -p jobstack-repo/packages/jobstack
#   cp cmake/packaging/spack/package.py jobstack-repo/packages/jobstack/ && spack repo add jobstack-repo
#   cd THE-SOURCE && spack dev-build jobstack@0.2.0
#
# From Spack 1.0 on the line `from spack_repo.builtin.build_systems.cmake import CMakePackage` is needed below the other import.

from spack.package import *


class Jobstack(CMakePackage):
    """A durable queue of files for Slurm clusters, kept in MySQL or MariaDB: spreads a list of files over the nodes, runs a
    command on each, and keeps account of how each ended."""

    license("BSD-2-Clause")

    version("0.2.0")

    variant("slurm", default=True, description="Ask Slurm whether a job has ended")
    variant("server", default=False, description="Bring MariaDB along, for `jobstack server`")

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("gawk", type="build")
    depends_on("mariadb-c-client")
    depends_on("jansson")
    depends_on("ncurses")
    depends_on("zlib-api")
    depends_on("openssl")
    depends_on("slurm", when="+slurm")
    depends_on("mariadb", type="run", when="+server")

    def cmake_args(self):
        return [self.define_from_variant("JOBSTACK_SLURM", "slurm")]
