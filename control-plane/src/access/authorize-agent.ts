import type { DenialCounter } from '../audit/denial-counter.ts';
import type { PolicyEvaluator } from '../policies/evaluate.ts';
import {
  type Access,
  type AccessRequest,
  type Denial,
  type Operation,
  denied,
  plainDenial,
} from './decision.ts';
import { evaluateAgentRequest } from './evaluate-request.ts';
import { type TicketDependencies, issueTicket } from './issue-ticket.ts';
import { type ExpiredGrants, denyMissingGrant } from './missing-grant.ts';
import { type PipelineDependencies, countOnce, runPipeline } from './pipeline.ts';
import { agentDenialEvent, createDenialRecorder } from './record-denial.ts';
import type { AccessStore, AgentSubject } from './subject.ts';

interface AccessDependencies extends PipelineDependencies, TicketDependencies {
  readonly store: AccessStore;
  readonly policies: PolicyEvaluator;
  readonly denials: DenialCounter;
  readonly expiredGrants: ExpiredGrants;
}

/** Decides what an agent gets, on either of its channels. */
export function createAccess(dependencies: AccessDependencies): Access {
  const { store, expiredGrants, clock } = dependencies;
  const denials = createDenialRecorder(agentDenialEvent, dependencies);

  return {
    decide: ({ credential, channel, operation, sourceAddress }) => {
      if (credential === undefined) return Promise.resolve(denied(plainDenial('INVALID_KEY')));
      const serviceName = 'serviceName' in operation ? operation.serviceName : undefined;
      return runPipeline(dependencies, denials, {
        serviceName,
        traffic: trafficOf(operation),
        count: countOnce(dependencies.limiter),
        find: () =>
          operation.kind === 'grants'
            ? store.findWithGrants(credential, clock.now())
            : store.find(credential, serviceName ?? '', clock.now()),
        check: (subject) => checkAgent(channel, subject),
        callerId: ({ agentId }) => agentId,
        evaluate: (subject, nowMs) =>
          evaluateAgentRequest(dependencies, subject, { operation, sourceAddress }, nowMs),
        conclude: (subject, result) => {
          switch (result.kind) {
            case 'answer':
              return result.answer;
            case 'missing-grant':
              return denyMissingGrant(expiredGrants, denials, subject, result.serviceName);
            case 'access':
              return issueTicket(dependencies, denials, subject, channel, result);
          }
        },
      });
    },
  };
}

function checkAgent(
  channel: AccessRequest['channel'],
  { status, mcpEnabled }: AgentSubject,
): Denial | undefined {
  if (status !== 'active') return plainDenial('AGENT_INACTIVE');
  return channel === 'mcp' && mcpEnabled === 0 ? plainDenial('MCP_DISABLED') : undefined;
}

const trafficOf = (operation: Operation): 'agent_credentials' | 'mcp_handshake' =>
  operation.kind === 'admission' ? operation.traffic : 'agent_credentials';
