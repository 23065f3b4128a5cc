import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { type Schemas, answerOf, api } from '../api/client.ts';

export type Policy = Schemas['Policy'];
export type Target = Schemas['PolicyAttachment'];
export type ListedTarget = Schemas['ListedPolicyAttachment'];
export type Preview = Schemas['PolicyPreview'];
export type Simulation = Schemas['Simulation'];
export type Event = Schemas['AuditEvent'];

/** One page of policies. */
export interface PolicyPage {
  readonly name?: string | undefined;
  readonly cursor?: string | undefined;
}

export const policiesQuery = ({ name, cursor }: PolicyPage) =>
  queryOptions({
    queryKey: ['policies', { name, cursor }],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/policies', {
          signal,
          params: { query: { ...(name && { name }), ...(cursor && { cursor }) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const policyQuery = (id: string) =>
  queryOptions({
    queryKey: ['policies', id],
    queryFn: ({ signal }) => answerOf(api.GET('/api/policies/{id}', { signal, params: { path: { id } } })),
  });

export const attachmentsQuery = (id: string, cursor?: string) =>
  queryOptions({
    queryKey: ['policies', id, 'attachments', { cursor }],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/policies/{id}/attachments', {
          signal,
          params: { path: { id }, query: { ...(cursor && { cursor }) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** What a policy that is not saved would have decided. */
export const previewQuery = (draft: Schemas['PolicyDraft']) =>
  queryOptions({
    queryKey: ['policies', 'preview', draft],
    queryFn: ({ signal }) => answerOf(api.POST('/api/policies/preview', { signal, body: draft })),
    placeholderData: keepPreviousData,
  });
