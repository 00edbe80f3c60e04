/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CA and server certificate.  Promises: others can never read the keys, not even for a moment.  The CA stays; each
 * start makes a new server certificate, for the names of this host and this start, so nothing is left of a start that
 * was killed.
 *
 * The certificates are valid from 2000 to 2049, so that a compute node with a wrong clock can work, and no queue stops
 * years later because a certificate has expired.  The CA is only for this server, and its key is beside the data
 * anyway.
 */
#include "server/server.h"

#include "base/error.h"
#include "base/file.h"
#include "server/owner.h"

#include <netdb.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_DAY "000101000000Z" /* see above */
#define LAST_DAY "491231235959Z"

/* A certificate and its key. */
struct pair {
	X509 *cert;
	EVP_PKEY *key;
};

/* An extension of a certificate, in the words of openssl's configuration. */
struct extension {
	int nid;
	const char *value;
};

static void free_pair(struct pair *p)
{
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
}

static int fail_openssl(struct server *s, const char *what)
{
	return js_error_set(&s->cli.error, JOBSTACK_EBUG, "the server's certificate can't be made: %s: %s", what,
			    ERR_error_string(ERR_get_error(), NULL));
}

/* Returns whether NAME can be written into a certificate. */
static int is_plain_name(const char *name)
{
	return *name != '\0' && strlen(name) < 256 &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")] == '\0';
}

/* Appends the names that the certificate must have.  An IPv4 address is listed as a DNS name, too, since connectors
 * with an old OpenSSL compare only those. */
static void list_certificate_names(const struct js_net *net, struct js_buf *san)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME}, *list = NULL;
	char host[256];

	js_buf_str(san, "DNS:localhost,IP:127.0.0.1,DNS:127.0.0.1,IP:::1");
	js_owner_host(host);
	if (is_plain_name(host))
		js_buf_printf(san, ",DNS:%s", host);
	if (getaddrinfo(host, NULL, &hints, &list) == 0) {
		if (list->ai_canonname != NULL && is_plain_name(list->ai_canonname))
			js_buf_printf(san, ",DNS:%s", list->ai_canonname);
		freeaddrinfo(list);
	}
	if (net->is_address)
		js_buf_printf(san, ",IP:%s", net->host);
	if (is_plain_name(net->host))
		js_buf_printf(san, ",DNS:%s", net->host);
}

/* P-256: all connectors know it, and it is made in no time. */
static EVP_PKEY *make_key(void)
{
	EVP_PKEY_CTX *making = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
	EVP_PKEY *key = NULL;

	if (making != NULL && EVP_PKEY_keygen_init(making) > 0 &&
	    EVP_PKEY_CTX_set_ec_paramgen_curve_nid(making, NID_X9_62_prime256v1) > 0 &&
	    EVP_PKEY_CTX_set_ec_param_enc(making, OPENSSL_EC_NAMED_CURVE) > 0)
		(void)EVP_PKEY_keygen(making, &key);
	EVP_PKEY_CTX_free(making);
	return key;
}

static int set_subject(X509 *cert, const char *name)
{
	X509_NAME *subject = X509_NAME_new();
	int done = subject != NULL &&
		   X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0) &&
		   X509_set_subject_name(cert, subject);

	X509_NAME_free(subject);
	return done;
}

static int add_extension(X509 *cert, X509 *issuer, const struct extension *e)
{
	X509_EXTENSION *made;
	X509V3_CTX context;
	int done;

	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	made = X509V3_EXT_conf_nid(NULL, &context, e->nid, e->value);
	done = made != NULL && X509_add_ext(cert, made, -1);
	X509_EXTENSION_free(made);
	return done;
}

/* Makes a key and a certificate for NAME, with these extensions, ended by one without a value.  CA signs it; NULL: the
 * certificate itself. */
static int make_pair(struct server *s, const char *name, const struct extension *e, const struct pair *ca,
		     struct pair *p)
{
	uint64_t serial;
	int done;

	js_file_random(&serial, sizeof(serial));
	*p = (struct pair){.cert = X509_new(), .key = make_key()};
	ca = ca == NULL ? p : ca;
	done = p->cert != NULL && p->key != NULL && X509_set_version(p->cert, 2) /* 3 */ &&
	       ASN1_INTEGER_set_uint64(X509_get_serialNumber(p->cert), serial) &&
	       ASN1_TIME_set_string(X509_getm_notBefore(p->cert), FIRST_DAY) &&
	       ASN1_TIME_set_string(X509_getm_notAfter(p->cert), LAST_DAY) && X509_set_pubkey(p->cert, p->key) &&
	       set_subject(p->cert, name) && X509_set_issuer_name(p->cert, X509_get_subject_name(ca->cert));
	for (; done && e->value != NULL; e++)
		done = add_extension(p->cert, ca->cert, e);
	return done && X509_sign(p->cert, ca->key, EVP_sha256()) > 0 ? 0 : fail_openssl(s, name);
}

/* Writes the file CERT, and KEY for OWNER. */
static int write_pair(struct server *s, const struct pair *p, const char *cert, const char *key,
		      const struct js_who *owner)
{
	BIO *bio[2] = {BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem())};
	const char *path[2] = {key, cert};
	char *text;
	int status = bio[0] != NULL && bio[1] != NULL && PEM_write_bio_X509(bio[1], p->cert) > 0 &&
				     PEM_write_bio_PrivateKey(bio[0], p->key, NULL, NULL, 0, NULL, NULL) > 0
			     ? 0
			     : fail_openssl(s, cert);

	for (int i = 0; i < 2 && status == 0; i++) {
		long len = BIO_get_mem_data(bio[i], &text);

		if (js_file_replace(path[i], i == 0 ? 0600 : 0644, text, (size_t)len) != 0 ||
		    (i == 0 && owner->change && lchown(key, owner->uid, owner->gid) != 0))
			status = js_error_file(&s->cli.error, "%s can't be written", path[i]);
	}
	BIO_free(bio[0]);
	BIO_free(bio[1]);
	return status;
}

static int make_ca(struct server *s, struct pair *ca)
{
	static const struct extension extensions[] = {{NID_basic_constraints, "critical,CA:TRUE"},
						      {NID_key_usage, "critical,keyCertSign,cRLSign"},
						      {NID_subject_key_identifier, "hash"},
						      {0, NULL}};
	char name[] = "jobstack CA 12345678";
	struct js_who us;

	js_who_self(&us);
	js_file_random_hex(strchr(name, '1'), 8); /* so that the CAs of two servers can be told apart */
	(void)unlink(s->layout.ca); /* so that a certificate and a key of two CAs are never taken for one */
	JS_TRY(make_pair(s, name, extensions, NULL, ca));
	return write_pair(s, ca, s->layout.ca, s->layout.ca_key, &us);
}

static int read_ca(struct server *s, struct pair *ca)
{
	FILE *cert = fopen(s->layout.ca, "re"), *key = fopen(s->layout.ca_key, "re");

	ca->cert = cert != NULL ? PEM_read_X509(cert, NULL, NULL, NULL) : NULL;
	ca->key = key != NULL ? PEM_read_PrivateKey(key, NULL, NULL, NULL) : NULL;
	if (cert != NULL)
		(void)fclose(cert);
	if (key != NULL)
		(void)fclose(key);
	return ca->cert != NULL && ca->key != NULL ? 0 : fail_openssl(s, s->layout.ca);
}

/* Makes the server's certificate, signed by CA. */
static int make_server_pair(struct server *s, const struct pair *ca, struct pair *own)
{
	struct js_buf names = {0};
	struct extension extensions[] = {{NID_basic_constraints, "critical,CA:FALSE"},
					 {NID_key_usage, "critical,digitalSignature"},
					 {NID_ext_key_usage, "serverAuth"},
					 {NID_authority_key_identifier, "keyid"},
					 {NID_subject_alt_name, NULL},
					 {0, NULL}};
	int status;

	list_certificate_names(&s->net, &names);
	extensions[4].value = names.data;
	status = names.failed ? js_error_memory(&s->cli.error) : make_pair(s, "jobstack server", extensions, ca, own);
	js_buf_free(&names);
	return status;
}

int server_certificates(struct server *s)
{
	const struct js_layout *layout = &s->layout;
	struct pair ca = {0}, own = {0};
	int status =
		access(layout->ca, R_OK) == 0 && access(layout->ca_key, R_OK) == 0 ? read_ca(s, &ca) : make_ca(s, &ca);

	JS_THEN(status, make_server_pair(s, &ca, &own));
	JS_THEN(status, write_pair(s, &own, layout->cert, layout->key, &s->who));
	free_pair(&own);
	free_pair(&ca);
	return status;
}
