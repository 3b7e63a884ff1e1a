"""Source text as data: records, languages, collectors, filters, samplers, chunking, files."""
