// SPDX-License-Identifier: Apache-2.0
#include "documents.h"

static const unsigned char openapi[] = {
#embed "../RelayHTTP/Documents/openapi.json"
};

static const unsigned char asyncapi[] = {
#embed "../RelayHTTP/Documents/asyncapi.json"
};

static const unsigned char schemas[] = {
#embed "../RelayHTTP/Documents/schemas.json"
};

static const unsigned char examples[] = {
#embed "../RelayHTTP/Documents/examples.json"
};

documents_file_t documents_openapi(void) {
  return (documents_file_t){openapi, sizeof openapi};
}

documents_file_t documents_asyncapi(void) {
  return (documents_file_t){asyncapi, sizeof asyncapi};
}

documents_file_t documents_schemas(void) {
  return (documents_file_t){schemas, sizeof schemas};
}

documents_file_t documents_examples(void) {
  return (documents_file_t){examples, sizeof examples};
}
