/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What most files of this layer need.
 */
#ifndef JS_CORE_CORE_H
#define JS_CORE_CORE_H

#include "core/handle.h"
#include "core/schema.h"
#include "core/stack.h"

#endif
