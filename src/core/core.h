/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What most files of this layer need.
 */
#pragma once

#include "core/handle.h"
#include "core/schema.h"
#include "core/stack.h"
