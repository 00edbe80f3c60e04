/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CA and server certificate.  Promises: others can never read the keys, not even for a moment.  If it is killed, the
 * next call repairs what is incomplete: everything is made in a separate directory, and the file `names`, which says
 * that all is complete, is written last.
 *
 * The certificates are valid from 2000 to 2049, so that a compute node with a wrong clock can work, and no queue stops
 * years later because a certificate has expired.  The CA is only for this server, and its key is beside the data
 * anyway.
 */
#include "server/internal.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "server/owner.h"
#include "server/program.h"

#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPENSSL_LIMIT_US (60 * JS_SECOND_US)
#define FIRST_DAY "20000101000000Z" /* see above */
#define LAST_DAY "20491231235959Z"

/* What is needed to make certificates. */
struct making {
	const struct js_work *work;
	const char *openssl;
	char aside[JS_LAYOUT_PATH];
	struct jobstack_error *error;
};

/* Whether NAME can be written into a certificate and into openssl's configuration. */
static int is_plain_name(const char *name)
{
	return *name != '\0' && strlen(name) < 256 &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")] == '\0';
}

static void add_certificate_name(struct js_buf *san, const char *kind, const char *name)
{
	char item[300];

	(void)snprintf(item, sizeof(item), "%s:%.256s", kind, name);
	if (san->data != NULL && strstr(san->data, item) != NULL) {
		const char *at = strstr(san->data, item) + strlen(item);

		if (*at == ',' || *at == '\0')
			return;
	}
	js_buf_printf(san, "%s%s", san->len > 0 ? "," : "", item);
}

/* The names that the certificate must have.  An IPv4 address is listed as a DNS name, too, since connectors with an old
 * OpenSSL compare only those. */
static void list_certificate_names(const struct js_net *net, struct js_buf *san)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME}, *list = NULL;
	char host[256];

	add_certificate_name(san, "DNS", "localhost");
	add_certificate_name(san, "IP", "127.0.0.1");
	add_certificate_name(san, "DNS", "127.0.0.1");
	add_certificate_name(san, "IP", "::1");
	js_owner_host(host);
	if (is_plain_name(host))
		add_certificate_name(san, "DNS", host);
	if (getaddrinfo(host, NULL, &hints, &list) == 0) {
		if (list->ai_canonname != NULL && is_plain_name(list->ai_canonname))
			add_certificate_name(san, "DNS", list->ai_canonname);
		freeaddrinfo(list);
	}
	if (net->is_address)
		add_certificate_name(san, "IP", net->host);
	if (is_plain_name(net->host))
		add_certificate_name(san, "DNS", net->host);
}

static int write_aside(const struct making *m, const char *name, const char *text)
{
	char path[JS_LAYOUT_PATH];

	js_layout_join(path, m->aside, name);
	if (js_file_replace(path, 0600, text, strlen(text)) == 0)
		return 0;
	return js_error_file(m->error, "%s can't be written", path);
}

/* What openssl reads; SAN is "" for the CA. */
static int write_openssl_config(const struct making *m, const char *common_name, const char *san)
{
	struct js_buf t = {0};
	char serial[40];
	int status;

	js_buf_printf(&t,
		      "[req]\ndistinguished_name=dn\nprompt=no\nstring_mask=utf8only\n[dn]\nCN=%s\n"
		      "[ca]\ndefault_ca=own\n"
		      "[own]\nnew_certs_dir=.\ndatabase=index.txt\nserial=serial\nunique_subject=no\npolicy=any\n"
		      "default_md=sha256\nemail_in_dn=no\n[any]\ncommonName=supplied\n"
		      "[v3_ca]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
		      "subjectKeyIdentifier=hash\n",
		      common_name);
	if (*san != '\0')
		js_buf_printf(&t,
			      "[v3_server]\nbasicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
			      "extendedKeyUsage=serverAuth\nauthorityKeyIdentifier=keyid\nsubjectAltName=%s\n",
			      san);
	if (t.failed) {
		js_buf_free(&t);
		return js_error_memory(m->error);
	}
	js_file_random_hex(serial, 32);
	serial[0] = '4'; /* positive, and always of the same length */
	serial[32] = '\n';
	serial[33] = '\0';
	status = write_aside(m, "openssl.cnf", t.data);
	JS_THEN(status, write_aside(m, "serial", serial));
	JS_THEN(status, write_aside(m, "index.txt", ""));
	js_buf_free(&t);
	return status;
}

/* Runs openssl in the directory aside, with the words of FORMAT (none of which has a blank) as its arguments. */
__attribute__((format(printf, 2, 3))) static int run_openssl(const struct making *m, const char *format, ...)
{
	const char *argv[32] = {m->openssl};
	struct js_task task = {.argv = argv, .env = m->work->env, .dir = m->aside};
	struct js_buf said = {0};
	char words[512], *rest = words;
	int status, end = 0;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	for (size_t i = 1; rest != NULL && i < 31; i++)
		argv[i] = strsep(&rest, " ");
	status = js_task_run(&task, OPENSSL_LIMIT_US, m->work->stop, &said, &end, m->error);
	if (status == 0 && end != 0)
		status = js_error_set(m->error, JOBSTACK_EFILE, "%s %s failed%s: %.600s", m->openssl, argv[1],
				      js_layout_full(m->aside, 1) ? " (the disk is full)" : "",
				      said.data != NULL ? said.data : "");
	js_buf_free(&said);
	return status;
}

/* Makes the files KEY and CERT in the directory aside; NAMES is "" for a CA.  SIGNER says who signs, in the words of
 * `openssl ca`, since `openssl x509` can't set the first day of validity. */
static int make_certificate(const struct making *m, const char *common_name, const char *names, const char *key,
			    const char *cert, const char *signer)
{
	int status = write_openssl_config(m, common_name, names);

	JS_THEN(status, run_openssl(m,
				    "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt "
				    "ec_param_enc:named_curve -out %s",
				    key));
	JS_THEN(status, run_openssl(m, "req -new -config openssl.cnf -key %s -out new.csr", key));
	JS_THEN(status, run_openssl(m,
				    "ca -batch -notext -config openssl.cnf -in new.csr -out %s -startdate " FIRST_DAY
				    " -enddate " LAST_DAY " %s",
				    cert, signer));
	return status;
}

/* Moves a file from the directory aside to its place, with its owner and mode. */
static int install_file(const struct making *m, const char *name, const char *to, mode_t mode, const struct js_who *who)
{
	char from[JS_LAYOUT_PATH];

	js_layout_join(from, m->aside, name);
	if (chmod(from, mode) == 0 && (who == NULL || !who->change || chown(from, who->uid, who->gid) == 0) &&
	    rename(from, to) == 0)
		return 0;
	return js_error_file(m->error, "%s can't be put in place", to);
}

static int make_ca(const struct making *m, const struct js_layout *layout)
{
	char name[] = "jobstack CA 12345678";
	int status;

	js_file_random_hex(strchr(name, '1'), 8); /* so that the CAs of two servers can be told apart */
	(void)unlink(layout->names);		  /* no client would accept the old certificate */
	status = make_certificate(m, name, "", "ca-key.pem", "ca.pem",
				  "-extensions v3_ca -keyfile ca-key.pem -selfsign");
	JS_THEN(status, install_file(m, "ca-key.pem", layout->ca_key, 0600, NULL));
	JS_THEN(status, install_file(m, "ca.pem", layout->ca, 0644, NULL));
	return status;
}

static int make_server_certificate(const struct making *m, const struct js_layout *layout, const char *names)
{
	int status;

	(void)unlink(layout->names);
	status = make_certificate(m, "jobstack server", names, "server-key.pem", "server.pem",
				  "-extensions v3_server -keyfile ../ca-key.pem -cert ../ca.pem");
	JS_THEN(status, install_file(m, "server-key.pem", layout->key, 0600, &m->work->who));
	JS_THEN(status, install_file(m, "server.pem", layout->cert, 0644, NULL));
	if (status == 0 && js_file_replace(layout->names, 0600, names, strlen(names)) != 0)
		status = js_error_file(m->error, "%s can't be written", layout->names);
	return status;
}

static int make_missing_certificates(struct making *m, int ca, const char *names)
{
	const struct js_layout *layout = &m->work->layout;
	struct js_who us;
	int status;

	js_who_self(&us);
	js_layout_sweep(layout->tls, "work.", &us); /* left by starts that were killed */
	js_layout_join(m->aside, layout->tls, "work.XXXXXX");
	if (mkdtemp(m->aside) == NULL)
		return js_error_file(m->error, "can't make a directory in %s", layout->tls);
	status = ca ? make_ca(m, layout) : 0;
	JS_THEN(status, make_server_certificate(m, layout, names));
	js_layout_remove(m->aside, &us);
	return status;
}

int js_tls_prepare(const struct js_work *work, const struct js_net *net, struct jobstack_error *error)
{
	char program[JS_LAYOUT_PATH];
	struct making m = {.work = work, .openssl = program, .error = error};
	const struct js_layout *layout = &work->layout;
	struct js_buf names = {0}, had = {0};
	int status = 0, ca = access(layout->ca, R_OK) != 0 || access(layout->ca_key, R_OK) != 0;

	list_certificate_names(net, &names);
	if (names.failed || names.data == NULL)
		status = js_error_memory(error);
	else if (!ca && access(layout->cert, R_OK) == 0 && access(layout->key, R_OK) == 0 &&
		 js_file_read(layout->names, &had) == 0 && had.data != NULL && strcmp(had.data, names.data) == 0) {
		if (work->who.change && lchown(layout->key, work->who.uid, work->who.gid) != 0)
			status = js_error_file(error, "%s", layout->key);
	} else if (js_program_search("openssl", work->search, program) != 0)
		status = js_error_set(error, JOBSTACK_EFILE,
				      "the program openssl, which makes the server's certificate, was not found: "
				      "install the package openssl");
	else {
		js_log(work->log, JOBSTACK_LOG_DEBUG, "making %s for %s",
		       ca ? "a CA and a server certificate" : "a server certificate", names.data);
		status = make_missing_certificates(&m, ca, names.data);
	}
	js_buf_free(&had);
	js_buf_free(&names);
	return status;
}
