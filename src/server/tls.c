/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CA and server certificate.  Promises: keys are never readable by others, not even for a moment; killed anywhere, the
 * next call makes what is not whole, for everything is made in a directory aside and its sign of being whole comes
 * last.
 *
 * The certificates are valid from 2000 to 2049: a compute node whose clock is wrong can still work, and nobody is
 * surprised by a stopped queue years later.  The CA serves one server only and its key lies beside the data anyway.
 */
#define _GNU_SOURCE
#include "server/tls.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "server/owner.h"
#include "server/program.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPENSSL_LIMIT_US (60 * JS_SECOND_US)

/* What one making of certificates works with. */
struct making {
	const struct js_work *work;
	const char *openssl;
	char aside[JS_LAYOUT_PATH];
	struct jobstack_error *error;
};

void js_tls_paths(const struct js_layout *layout, struct js_tls *tls)
{
	js_layout_join(tls->ca, layout->tls, "ca.pem");
	js_layout_join(tls->ca_key, layout->tls, "ca-key.pem");
	js_layout_join(tls->cert, layout->tls, "server.pem");
	js_layout_join(tls->key, layout->tls, "server-key.pem");
	js_layout_join(tls->names, layout->tls, "names");
}

/* A DNS name as it may stand in a certificate and in openssl's configuration. */
static int plain_name(const char *name)
{
	return *name != '\0' && strlen(name) < 256 &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")] == '\0';
}

static void add_name(struct js_buf *san, const char *kind, const char *name)
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

/* The names that the certificate must have.  An IPv4 address stands there as a DNS name too, since connectors with an
 * old OpenSSL compare only those. */
static void list_names(const struct js_net *net, struct js_buf *san)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME}, *list = NULL;
	char host[256];

	add_name(san, "DNS", "localhost");
	add_name(san, "IP", "127.0.0.1");
	add_name(san, "DNS", "127.0.0.1");
	add_name(san, "IP", "::1");
	js_owner_host(host);
	if (plain_name(host))
		add_name(san, "DNS", host);
	if (getaddrinfo(host, NULL, &hints, &list) == 0) {
		if (list->ai_canonname != NULL && plain_name(list->ai_canonname))
			add_name(san, "DNS", list->ai_canonname);
		freeaddrinfo(list);
	}
	if (net->is_address)
		add_name(san, "IP", net->host);
	if (plain_name(net->host))
		add_name(san, "DNS", net->host);
}

static int write_work(const struct making *m, const char *name, const char *text)
{
	char path[JS_LAYOUT_PATH];

	js_layout_join(path, m->aside, name);
	if (js_file_replace(path, 0600, text, strlen(text)) == 0)
		return 0;
	return js_error_file(m->error, "%s can't be written", path);
}

/* What openssl reads; SAN is "" for the CA. */
static int write_config(const struct making *m, const char *common_name, const char *san)
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
	serial[0] = '4'; /* positive, and of one length */
	serial[32] = '\n';
	serial[33] = '\0';
	status = write_work(m, "openssl.cnf", t.data);
	if (status == 0)
		status = write_work(m, "serial", serial);
	if (status == 0)
		status = write_work(m, "index.txt", "");
	js_buf_free(&t);
	return status;
}

/* Runs openssl with these arguments in the directory aside. */
static int openssl(const struct making *m, const char *const args[])
{
	const char *argv[32] = {m->openssl};
	struct js_task task = {.argv = argv, .env = m->work->env, .dir = m->aside};
	struct js_buf said = {0};
	int status, end = 0;

	for (size_t i = 0; args[i] != NULL && i < 30; i++)
		argv[i + 1] = args[i];
	status = js_task_run(&task, OPENSSL_LIMIT_US, m->work->stop, &said, &end, m->error);
	if (status == 0 && end != 0)
		status = js_error_set(m->error, JOBSTACK_EFILE, "%s %s failed%s: %.600s", m->openssl, args[0],
				      js_layout_full(m->aside, 1) ? " (the disk is full)" : "",
				      said.data != NULL ? said.data : "");
	js_buf_free(&said);
	return status;
}

static int make_key(const struct making *m, const char *file)
{
	const char *const args[] = {"genpkey",
				    "-algorithm",
				    "EC",
				    "-pkeyopt",
				    "ec_paramgen_curve:P-256",
				    "-pkeyopt",
				    "ec_param_enc:named_curve",
				    "-out",
				    file,
				    NULL};

	return openssl(m, args);
}

static int make_request(const struct making *m, const char *key)
{
	const char *const args[] = {"req", "-new", "-config", "openssl.cnf", "-key", key, "-out", "new.csr", NULL};

	return openssl(m, args);
}

/* `openssl ca`, for `openssl x509` can't set the first day of validity.  CA is NULL to sign itself. */
static int sign(const struct making *m, const char *ca, const char *ca_key, const char *out)
{
	const char *const args[] = {"ca",
				    "-batch",
				    "-notext",
				    "-config",
				    "openssl.cnf",
				    "-in",
				    "new.csr",
				    "-out",
				    out,
				    "-startdate",
				    "20000101000000Z",
				    "-enddate",
				    "20491231235959Z", /* see above */
				    "-extensions",
				    ca == NULL ? "v3_ca" : "v3_server",
				    "-keyfile",
				    ca_key,
				    ca == NULL ? "-selfsign" : "-cert",
				    ca,
				    NULL};

	return openssl(m, args);
}

/* Brings a file from the directory aside to its place, with its owner and mode. */
static int bring(const struct making *m, const char *name, const char *to, mode_t mode, const struct js_who *who)
{
	char from[JS_LAYOUT_PATH];

	js_layout_join(from, m->aside, name);
	if (chmod(from, mode) == 0 && (who == NULL || !who->change || chown(from, who->uid, who->gid) == 0) &&
	    rename(from, to) == 0)
		return 0;
	return js_error_file(m->error, "%s can't be put in place", to);
}

static int make_ca(const struct making *m, const struct js_tls *tls)
{
	char name[] = "jobstack CA 12345678";
	int status;

	js_file_random_hex(strchr(name, '1'), 8); /* its own name, so that two servers' CAs can be told apart */
	(void)unlink(tls->names);		  /* the old certificate is worth nothing then */
	status = write_config(m, name, "");
	if (status == 0)
		status = make_key(m, "ca-key.pem");
	if (status == 0)
		status = make_request(m, "ca-key.pem");
	if (status == 0)
		status = sign(m, NULL, "ca-key.pem", "ca.pem");
	if (status == 0)
		status = bring(m, "ca-key.pem", tls->ca_key, 0600, NULL);
	if (status == 0)
		status = bring(m, "ca.pem", tls->ca, 0644, NULL);
	return status;
}

static int make_server(const struct making *m, const struct js_tls *tls, const char *names, const struct js_who *who)
{
	int status;

	(void)unlink(tls->names);
	status = write_config(m, "jobstack server", names);
	if (status == 0)
		status = make_key(m, "server-key.pem");
	if (status == 0)
		status = make_request(m, "server-key.pem");
	if (status == 0)
		status = sign(m, tls->ca, tls->ca_key, "server.pem");
	if (status == 0)
		status = bring(m, "server-key.pem", tls->key, 0600, who);
	if (status == 0)
		status = bring(m, "server.pem", tls->cert, 0644, NULL);
	if (status == 0 && js_file_replace(tls->names, 0600, names, strlen(names)) != 0)
		status = js_error_file(m->error, "%s can't be written", tls->names);
	return status;
}

static int make_missing(struct making *m, const struct js_tls *tls, int ca, const char *names)
{
	struct js_who us;
	int status = 0;

	js_who_self(&us);
	js_layout_sweep(m->work->layout.tls, "work.", &us); /* what a killed start has left aside */
	js_layout_join(m->aside, m->work->layout.tls, "work.XXXXXX");
	if (mkdtemp(m->aside) == NULL)
		return js_error_file(m->error, "a directory in %s", m->work->layout.tls);
	if (ca)
		status = make_ca(m, tls);
	if (status == 0)
		status = make_server(m, tls, names, &m->work->who);
	js_layout_remove(m->aside, &us);
	return status;
}

int js_tls_prepare(const struct js_work *work, const struct js_net *net, struct jobstack_error *error)
{
	char program[JS_LAYOUT_PATH];
	struct making m = {.work = work, .openssl = program, .error = error};
	struct js_buf names = {0}, had = {0};
	struct js_tls tls;
	int status = 0, ca;

	js_tls_paths(&work->layout, &tls);
	list_names(net, &names);
	if (names.failed || names.data == NULL) {
		status = js_error_memory(error);
		goto out;
	}
	ca = access(tls.ca, R_OK) != 0 || access(tls.ca_key, R_OK) != 0;
	if (!ca && access(tls.cert, R_OK) == 0 && access(tls.key, R_OK) == 0 && js_file_read(tls.names, &had) == 0 &&
	    had.data != NULL && strcmp(had.data, names.data) == 0) {
		if (work->who.change && lchown(tls.key, work->who.uid, work->who.gid) != 0)
			status = js_error_file(error, "%s", tls.key);
		goto out;
	}
	if (js_program_search("openssl", work->search, program) != 0) {
		status = js_error_set(error, JOBSTACK_EFILE,
				      "the program openssl, which makes the server's certificate, was not found: "
				      "install the package openssl");
		goto out;
	}
	js_log(work->log, JOBSTACK_LOG_DEBUG, "making %s for %s",
	       ca ? "a CA and a server certificate" : "a server certificate", names.data);
	status = make_missing(&m, &tls, ca, names.data);
out:
	js_buf_free(&had);
	js_buf_free(&names);
	return status;
}
