/** Why an agent's request cannot be signed for AWS (PROTOCOL.md section 5.9). */
const PROBLEMS = {
  aws_presigned:
    'The request’s query has a signature or other members of one (X-Amz-…). Send the request itself: the webhook signs it.',
  aws_query:
    'The request’s query has two readings: it has a plus sign, or percent-encoding that is no UTF-8. Send a space as %20 and a plus sign as %2B.',
  aws_chunked:
    'The request’s body is not in a form of aws-chunked that can be read: its parts, its length or its trailer are not as its header says.',
} as const;

export type AwsRequestProblem = keyof typeof PROBLEMS;
export const AWS_REQUEST_PROBLEMS = Object.keys(PROBLEMS) as AwsRequestProblem[];

/** For people; quotes nothing of the request. */
export const awsRequestProblemText = (problem: AwsRequestProblem): string => PROBLEMS[problem];
